import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SealStep } from "../../src/disk/sealed.ts";
import { mayMount, remount, tmpfs } from "../support/fault/tmpfs.ts";
import { lab } from "../support/lab.ts";
import { ended, supportFile, until } from "../support/workspace.ts";

const STEPS: readonly (readonly [SealStep, nth: number])[] = [
  ["sealed", 1],
  ...[1, 2, 3, 4, 5, 6].map((nth) => ["fact removed", nth] as const),
  ["folder removed", 1],
];

it("R-004.5: a sealing killed -9 at each of its steps leaves a run that says the same, and whoever looks next finishes it", async () => {
  const at = lab();
  for (const [step, nth] of STEPS) {
    const record = await at.sh("echo x; exit 3");
    await until(() => at.fact(record, "done.json"));
    const { signal, stderr } = await ended(
      at.node(supportFile("worker/archive-at.ts"), at.root, "reap", record.agent, step, String(nth)),
    );
    expect(signal, `${step} ${nth}: ${stderr}`).toBe("SIGKILL");
    expect(existsSync(at.sealed(record))).toBe(true);
    const look = at.open();
    look.rebuild();
    expect(await look.runs.show(record.agent), `${step} ${nth}`).toMatchObject({
      phase: "drained",
      outcome: "failed",
      exit: { code: 3 },
    });
    await look.runs.reap();
    expect(existsSync(at.runDir(record)), `${step} ${nth}`).toBe(false);
    expect(readdirSync(join(at.runDir(record), ".."))).toEqual(["1.json"]);
    look.close();
  }
});

it.runIf(mayMount).each(["full", "read-only"])(
  "R-000.12: on a disk that is %s nothing of a run is lost: it is told as ended, and sealed when there is room",
  async (what) => {
    const disk = tmpfs("size=8m");
    const at = lab({ disk_floor: 1, disk_refuse: 2, disk_warn: 3 }, disk);
    const record = await at.sh("echo x; exit 3");
    await until(() => at.fact(record, "done.json") && at.survivors(true).length === 0);
    const filler = join(disk, "filler");
    at.workspace.close(); // A disk with a file open for writing cannot be made read-only.
    if (what === "full") spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"]);
    else remount(disk, "ro");
    const look = at.open();
    expect(await look.runs.list()).toMatchObject([{ agent: record.agent, outcome: "failed", exit: { code: 3 } }]);
    look.close();
    expect(at.fact(record, "done.json")).toMatchObject({ verified: true });
    expect(existsSync(at.sealed(record))).toBe(false);
    if (what === "full") rmSync(filler);
    else remount(disk, "rw");
    await at.workspace.runs.reap();
    expect(readdirSync(join(at.runDir(record), ".."))).toEqual(["1.json"]);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ outcome: "failed", exit: { code: 3 } });
  },
);
