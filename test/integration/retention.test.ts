import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CleanupFact, ExitFact } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { counts, told } from "../support/data/events.ts";
import { snapshot } from "../support/data/snapshot.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { type Lab, text, until } from "../support/workspace.ts";

const HOUR = 3_600_000;

async function over(at: Lab, script = "echo some output"): Promise<RunRecord> {
  const record = await at.sh(script);
  await at.workspace.runs.wait([record.agent]);
  return record;
}

/** As if it had ended so long ago: the facts decide, and reap reads them. */
function age(at: Lab, record: RunRecord, ms: number): void {
  const ended_at = new Date(Date.now() - ms).toISOString();
  at.setFact(record, "exit.json", { ...at.fact<ExitFact>(record, "exit.json"), ended_at });
}

const cleanup = (at: Lab, record: RunRecord): CleanupFact =>
  at.fact<CleanupFact>(record, "cleanup.json") as CleanupFact;
/** SQLite's own side files come and go with a reader; the database itself is compared. */
const everything = (at: Lab): Record<string, string> => {
  const { ".": _, ...all } = snapshot(at.root, (name) => /\.db-(wal|shm)$/.test(name));
  return all;
};

describe("retention", () => {
  it("R-000.27, R-002.9, R-002.15: a log older than archive_after is archived by reap and by the loop, a younger one is not", async () => {
    const at = lab({ archive_after: "24h" });
    const [old, older, young] = [await over(at), await over(at), await over(at)];
    age(at, old, 25 * HOUR);
    expect(await at.workspace.runs.reap()).toMatchObject([{ agent: old.agent, action: "archived", phase: "archived" }]);
    age(at, older, 25 * HOUR);
    at.workspace.rebuild();
    expect(await at.workspace.up.loop().round()).toMatchObject({ archived: 1 });
    expect(await at.workspace.up.loop().round()).toMatchObject({ archived: 0 });
    for (const { agent } of [old, older]) {
      expect(await at.workspace.runs.show(agent)).toMatchObject({ phase: "archived", outcome: "completed" });
      expect((await at.raw(agent)).toString()).toBe("some output\n");
    }
    expect(cleanup(at, old).files.find(({ action }) => action === "archived")?.path).toMatch(/_stream\.1\.jsonl\.zst$/);
    expect((await at.workspace.runs.show(young.agent)).phase).toBe("drained");
    // Brought back by a person it stays, although it is as old as before.
    await at.workspace.files.restore(old.agent);
    expect(await at.workspace.runs.reap()).toEqual([]);
    expect(existsSync(old.log)).toBe(true);
    expect(counts(at)["cleanup.archived"]).toBe(2);
  });

  it("R-004.1: a log that lives, is lost or is held is not archived, and an archive is never overwritten", async () => {
    const at = lab({ archive_after: 0 });
    const live = await at.sh("echo x; exec sleep 300");
    await until(() => text(live.log) !== "");
    const held = await at.sh("echo x; sleep 0.3");
    const stranger = openSync(held.log, "a");
    try {
      await at.workspace.runs.wait([held.agent]);
      expect(await at.workspace.runs.reap()).toMatchObject([{ agent: held.agent, action: "failed" }]);
      expect([existsSync(live.log), existsSync(held.log)]).toEqual([true, true]);
    } finally {
      closeSync(stranger);
    }
    const taken = join(at.root, held.task, "archive", `${held.agent}_stream.1.jsonl.zst`);
    mkdirSync(join(at.root, held.task, "archive"), { recursive: true });
    writeFileSync(taken, "somebody else's");
    expect(await at.workspace.runs.reap()).toMatchObject([{ agent: held.agent, action: "failed" }]);
    expect([text(taken), text(held.log)]).toEqual(["somebody else's", "x\n"]);
    rmSync(taken);
    expect(await at.workspace.runs.reap()).toMatchObject([{ agent: held.agent, action: "archived" }]);
    await kill9(keeperOf(at, live));
    expect(await at.workspace.runs.reap()).toMatchObject([{ agent: live.agent, phase: "lost", action: "listed" }]);
    expect(existsSync(live.log)).toBe(true);
  });

  it("the logs of earlier runs are compressed when they are old, too", async () => {
    const at = lab({ archive_after: "24h" });
    const record = await over(at);
    await at.workspace.runs.restart(record.agent);
    await at.workspace.runs.wait([record.agent]);
    age(at, record, 25 * HOUR);
    expect(await at.workspace.runs.reap()).toMatchObject([{ agent: record.agent, run: 1, action: "archived" }]);
    expect(readdirSync(join(at.root, record.task, "archive"))).toContain(`${record.agent}_stream.1.jsonl.zst`);
    expect((await at.raw(record.agent, { run: 1 })).toString()).toBe("some output\n");
    expect((await at.workspace.runs.show(record.agent)).phase).toBe("drained");
  });
});

describe("failures", () => {
  it("R-002.19, R-004.8, R-002.17: a step that failed is listed, tried again by reap, and told at the third time", async () => {
    const at = lab();
    const record = await at.sh("echo x; exec sleep 300");
    await until(() => text(record.log) !== "");
    const stranger = openSync(record.log, "a");
    try {
      const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0, purge: true });
      expect(report?.files.find(({ path }) => path === record.log)?.action).toBe("failed");
      const since = cleanup(at, record).failures?.[0]?.since;
      for (const tries of [1, 2, 3, 4]) {
        const listed = await at.cli("reap", "--failed", "--json");
        const failures = listed.stdout.trim().split("\n");
        expect(failures.map((line) => JSON.parse(line))).toMatchObject([
          {
            agent: record.agent,
            run: 1,
            path: record.log,
            step: "delete",
            error: "a process has it open for writing",
            tries,
            since,
          },
        ]);
        expect(told(at, "cleanup.failed")).toHaveLength(tries < 3 ? 0 : 1);
        expect(await at.workspace.runs.reap({ dryRun: true })).toMatchObject([{ action: "retry", path: record.log }]);
        expect(await at.workspace.runs.reap()).toMatchObject([{ action: "failed", path: record.log }]);
      }
    } finally {
      closeSync(stranger);
    }
    expect(told(at, "error")).toMatchObject([{ agent: record.agent, data: { step: "delete", tries: 3 } }]);
    expect(told(at, "cleanup.failed")[0]).toMatchObject({ agent: record.agent, data: { step: "delete", tries: 3 } });
    expect(await at.workspace.runs.reap()).toMatchObject([{ action: "deleted", path: record.log }]);
    expect([existsSync(record.log), (await at.cli("reap", "--failed")).stdout]).toEqual([false, "Nothing to do.\n"]);
    expect((await at.workspace.runs.show(record.agent)).cleanup_failures).toEqual([]);
  });
});

describe("reap", () => {
  it("R-002.9: --dry-run shows the whole plan and changes nothing, not even the database; reap then does it", async () => {
    const at = lab({ archive_after: "24h" });
    const [old, unclean, unsettled, held] = [await over(at), await over(at), await over(at), await over(at)];
    const stranger = openSync(held.log, "a");
    await at.workspace.runs.stop([held.agent], { purge: true });
    age(at, old, 25 * HOUR);
    at.setFact(unclean, "cleanup.json", null);
    // Its keeper never said the last word: lost, and nobody lives.
    at.unseal(unsettled);
    for (const name of ["done.json", "exit.json"]) at.setFact(unsettled, name, null);
    utimesSync(join(at.root, "active"), 1, 1);
    for (const opened of [at.workspace]) opened.close(); // Checkpoints, so that the file itself is compared.
    const before = everything(at);
    const { code, stdout } = await at.cli("reap", "--dry-run", "--json");
    const plan = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(Object.fromEntries(plan.map(({ agent, action }) => [agent, action]))).toEqual({
      [old.agent]: "archive",
      [unclean.agent]: "clean",
      [unsettled.agent]: "settle",
      [held.agent]: "retry",
    });
    expect(everything(at)).toEqual(before);
    closeSync(stranger);
    const done = await at.workspace.runs.reap();
    expect(Object.fromEntries(done.map(({ agent, action }) => [agent, action]))).toMatchObject({
      [old.agent]: "archived",
      [unclean.agent]: "cleaned",
      [held.agent]: "deleted",
    });
    expect(cleanup(at, unclean)).toBeDefined();
  });

  it("R-004.15: each action is told once in events.log, however many look at once", async () => {
    const at = lab({ archive_after: 0 });
    const record = await at.workspace.runs.start({ argv: ["sh", "-c", "echo x; sleep 0.2"], prompt: "p" });
    await until(() => existsSync(join(at.runDir(record), "done.json")));
    const looks = Array.from({ length: 8 }, () => at.open());
    await Promise.all([
      ...looks.map((workspace) => workspace.runs.list()),
      at.cli("ls"),
      at.cli("reap"),
      at.cli("stop", record.agent),
      at.cli("up", "--once"),
    ]);
    const { "agent.started": started, "agent.ended": ended, "cleanup.archived": archived } = counts(at);
    expect({ started, ended, archived }).toEqual({ started: 1, ended: 1, archived: 1 });
    const prompt = told(at, "cleanup.deleted").filter(({ content }) => content.includes("agent_prompt"));
    expect(prompt).toHaveLength(1);
    expect(told(at, "agent.ended")[0]).toEqual({
      v: 1,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      interaction: 0,
      actor: "midwatch",
      type: "agent.ended",
      content: `${record.agent} ended: completed`,
      timestamp: expect.stringMatching(/Z$/),
      task: record.task,
      agent: record.agent,
      data: {
        run: 1,
        outcome: "completed",
        exit: { code: 0, signal: null },
        verified: true,
        took_ms: expect.any(Number),
        freed_bytes: 1,
        failures: 0,
      },
    });
  });
});
