import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import { keeperOf } from "../support/fault/keeper-kill.ts";
import { type LimitedGroup, limitedGroup } from "../support/fault/limited-cgroup.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { type Lab, lives, text, until } from "../support/workspace.ts";

const LIMIT = 48 << 20;
const probe = limitedGroup("memory", LIMIT);
await probe?.end();

const score = (pid: number): number => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"));
/** Prints, waits for the file `go`, then takes all the memory there is. */
const eater = (at: Lab): string =>
  `seq 1 5000; while [ ! -e "${at.folder}/go" ]; do sleep 0.02; done; echo now; exec tail /dev/zero`;

describe.skipIf(probe === undefined).each(["auto", "subreaper"] as Tier[])("out of memory (tier %s)", (tier) => {
  function limited(): LimitedGroup {
    const group = limitedGroup("memory", LIMIT) as LimitedGroup;
    onTestFinished(() => group.end(), patient(20_000)); // Before the lab's own end, which comes last: what is in it has ended by then.
    return group;
  }

  it("R-004.5: the kernel kills the main process: failed by SIGKILL, drained, its log whole, its children ended", async () => {
    const at = lab({ tier });
    const group = limited();
    const record = await at.sh(`sleep 300 & ${eater(at)}`);
    await until(() => text(record.log).endsWith("5000\n"));
    writeFileSync(group.procs, String(record.pid));
    writeFileSync(join(at.folder, "go"), "");
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
    expect(shown).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: null, signal: "SIGKILL" } });
    expect((await at.raw(record.agent)).toString().split("\n").slice(-3)).toEqual(["5000", "now", ""]);
    expect(await at.workspace.logs.verify(record.agent)).toMatchObject({ ok: true, lines: 5001, index: "ok" });
    expect(at.survivors()).toEqual([]);
  });

  it("R-004.5: keeper and agent share the limit: the agent is taken, the keeper lives on and tells", async () => {
    const at = lab({ tier });
    const group = limited();
    const record = await at.sh(eater(at));
    const keeper = keeperOf(at, record);
    await until(() => text(record.log).endsWith("5000\n"));
    expect(score(keeper.pid)).toBeLessThan(score(record.pid as number));
    for (const pid of [keeper.pid, record.pid]) writeFileSync(group.procs, String(pid));
    writeFileSync(join(at.folder, "go"), "");
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
    expect(shown).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: null, signal: "SIGKILL" } });
    // By the first keeper, not by one that took over: an adopter could not know the signal, and there is none.
    expect(at.fact(record, "adopt.json")).toBeUndefined();
    expect(shown?.guarantee).toBe(record.guarantee);
    await until(() => !lives(keeper));
    expect((await at.raw(record.agent)).toString().endsWith("now\n")).toBe(true);
  });
});
