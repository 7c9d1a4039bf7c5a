/** A lock of the workspace is a file in it: whoever cannot open that cannot hold it. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { expect, it } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { alone } from "../../src/disk/lock.ts";
import { lab } from "../support/lab.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("SKIPPED: another user can only be tried by root.");
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
/** Opening it would be enough: any reader can hold a lock that writers wait for. */
const TRIES = 'ls -a "$1"; (: <"$0") && echo read; (: >>"$0") && echo written';

it.skipIf(!isRoot)(
  "another user cannot open a lock, from this network namespace or another; and nobody waits for him",
  async () => {
    const { root, folder } = lab();
    chmodSync(folder, 0o755); // Only the workspace itself is closed to him.
    const paths = layout(root);
    await alone(paths, paths.locks.prune, () => {
      expect(existsSync(paths.locks.prune)).toBe(true);
      for (const apart of [[], ["unshare", "--net"]]) {
        const [program, ...args] = [...apart, ...NOBODY, "sh", "-c", `${TRIES}; true`, paths.locks.prune, folder];
        const said = execFileSync(program as string, args, {
          encoding: "utf8",
          cwd: "/",
          stdio: ["ignore", "pipe", "ignore"],
          env: { PATH: "/bin:/usr/bin" },
        });
        expect(said.split("\n")).toEqual([".", "..", ".agent-workspace", ""]);
      }
    });
    expect(await alone(paths, paths.locks.prune, () => "ours", 0)).toBe("ours");
  },
);
