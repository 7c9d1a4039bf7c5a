import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { alone } from "../../src/disk/lock.ts";
import { folder } from "../support/folder.ts";
import { supportFile } from "../support/workspace.ts";

/** A network namespace of its own, where this user may make one. */
const APART = ["unshare", "--user", "--map-root-user", "--net"];

it.for([
  ["another process", []],
  ["a process in another network namespace", APART],
] as const)(
  "%s that holds it is waited for, named, and followed at once when it is killed",
  async ([, wrapper], { skip }) => {
    const paths = layout(folder());
    const [program, ...args] = [...wrapper, process.execPath, supportFile("worker/lock-worker.ts"), paths.root];
    const holder = spawn(program as string, args, { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void holder.kill("SIGKILL"));
    const [said] = await Promise.race([once(holder.stdout, "data"), once(holder, "exit").then(() => [""])]);
    if (String(said) !== "held\n" && wrapper.length > 0) {
      console.warn("SKIPPED: a lock across network namespaces: none can be made here.");
      return skip();
    }
    expect(String(said)).toBe("held\n");
    const never = (): never => expect.unreachable("went on without the lock");
    await expect(alone(paths, paths.locks.prune, never, 50)).rejects.toMatchObject({
      code: "LOCK_BUSY",
      message: expect.stringMatching(new RegExp(`process ${holder.pid} \\(`)),
    });
    const gone = once(holder, "exit");
    holder.kill("SIGKILL");
    await gone;
    expect(await alone(paths, paths.locks.prune, () => "ours")).toBe("ours");
  },
);
