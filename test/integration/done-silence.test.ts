// Agents that report that they are done, and live on: they are ended after a silence, with nothing of midwatch running but what comes by itself.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { TERMINAL } from "../../src/core/phase.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { CompanionLab } from "../support/companion.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, lives, text, until } from "../support/workspace.ts";

/** All is as people have it, but for the silence. */
function defaults(silence = "500ms"): CompanionLab {
  const made = new CompanionLab();
  onTestFinished(() => made.end(), patient(60_000));
  writeFileSync(join(made.folder, "midwatch.config.json"), JSON.stringify({ done_silence: silence }));
  return made;
}

/** `midwatch progress STATUS` as an agent says it. */
const says = (at: Lab, status: string): string =>
  `"${process.execPath}" "${CLI}" --workspace "${at.root}" progress ${status} "as it said"`;

const run = (at: CompanionLab, script: string, ...flags: string[]): Promise<RunRecord> =>
  at.json<RunRecord>("run", "--json", ...flags, "--", "sh", "-c", script);

const archivedLog = (at: Lab, { task, agent }: RunRecord): string =>
  join(at.root, task, "archive", `${agent}_stream.1.jsonl`);

/** By its files alone: no command looks, which would clean up as well. */
async function isArchived(at: Lab, record: RunRecord): Promise<void> {
  await until(() => existsSync(at.sealed(record)) && existsSync(archivedLog(at, record)), 30_000, "it is archived");
}

it.each(TERMINAL)(
  "R-004.5, R-002.16: 6 an agent that reports %s and lives on is ended and archived, without `up`",
  async (status) => {
    const at = defaults();
    const record = await run(at, `echo one; ${says(at, status)}; setsid sleep 300 & exec sleep 300`);
    await isArchived(at, record);
    expect(existsSync(join(at.root, record.task, `agent_prompt_${record.agent}.txt`))).toBe(false);
    expect(await at.show(record.agent)).toMatchObject({
      ...{ phase: "archived", outcome: "stopped", status },
      reason: `reported ${status}, then nothing for 0.5 s`,
    });
    const { stdout } = await at.midwatch("logs", record.agent);
    expect(stdout.startsWith("one\n")).toBe(true);
    const [view] = JSON.parse(readFileSync(join(at.root, record.task, "AGENT_REGISTRY.json"), "utf8")).agents;
    expect(view).toMatchObject({ status, tmux_session: null, progress_report: { status } });
    expect(text(join(at.root, "events.log")).match(/"type":"agent.ended"/g)).toHaveLength(1);
    await at.isGone();
  },
);

it("R-004.5: one that reports and ends at once is archived too, completed by the kernel's word", async () => {
  const at = defaults("60s");
  const record = await run(at, `echo one; ${says(at, "completed")}`);
  await isArchived(at, record);
  expect(await at.show(record.agent)).toMatchObject({ phase: "archived", outcome: "completed", status: "completed" });
  await at.isGone();
});

it("R-004.5: output or another report puts it off; off, 0, and a later `working` take it back", async () => {
  const at = lab();
  const busy = await at.sh("while :; do echo on; sleep 0.05; done");
  const again = await at.sh("exec sleep 300");
  const quiet = await at.sh("exec sleep 300");
  const at500 = at.open({ config: { done_silence: "1500ms" } });
  for (const { agent } of [busy, again, quiet]) at.workspace.mail.progress(agent, "completed", "done");
  at.workspace.mail.progress(again.agent, "working", "one more thing");
  for (const off of ["off", "0"] as const)
    expect(
      (
        await at
          .open({ config: { done_silence: off } })
          .up.loop()
          .round()
      ).stopped,
    ).toEqual([]);
  const loop = at500.up.loop();
  const stopped: string[] = [];
  await until(async () => {
    stopped.push(...(await loop.round()).stopped);
    return stopped.length > 0;
  }, 20_000);
  await loop.round();
  expect(stopped).toEqual([quiet.agent]);
  expect((await at.workspace.runs.show(busy.agent)).phase).toBe("running");
  expect((await at.workspace.runs.show(again.agent)).phase).toBe("running");
});

it("R-002.4: an interactive agent whose input is open goes on, and agents below one that is ended live", async () => {
  const at = defaults();
  const chat = await run(at, `${says(at, "completed")}; cat`, "--interactive");
  const go = join(at.folder, "go");
  const child = `"${process.execPath}" "${CLI}" --workspace "${at.root}" run --json --name kid -- sleep 300`;
  const boss = await run(
    at,
    `${child}; until [ -e "${go}" ]; do sleep 0.05; done; ${says(at, "completed")}; exec sleep 300`,
  );
  await until(() => text(boss.log).includes('"kid-'), 20_000);
  const kid = JSON.parse(text(boss.log).split("\n")[0] ?? "") as RunRecord;
  writeFileSync(go, "");
  await isArchived(at, boss);
  expect((await at.show(kid.agent)).phase).toBe("running");
  expect(existsSync(archivedLog(at, chat))).toBe(false);
  expect((await at.show(chat.agent)).phase).toBe("running");
  await at.stop("--grace", "0", chat.agent);
  await at.stop("--grace", "0", kid.agent);
});

it("R-004.6: a kill at the same moment cleans up once, and both tell the same", async () => {
  const at = lab();
  for (let round = 0; round < 5; round++) {
    const record = await at.sh("echo one; exec sleep 300");
    await until(() => text(record.log) !== "");
    at.workspace.mail.progress(record.agent, "completed", "done");
    const loop = at.open({ config: { done_silence: "1ms" } }).up.loop();
    const [ended, [killed]] = await Promise.all([
      loop.round(),
      at.open().runs.stop([record.agent], { graceMs: 100, files: "archive", reason: "enough" }),
    ]);
    expect(killed).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    expect(ended.problem).toBeNull();
    const [again] = await at.workspace.runs.stop([record.agent], { files: "archive" });
    expect(again?.files).toEqual(killed?.files);
    expect((await at.workspace.runs.show(record.agent)).status).toBe("completed");
    const events = text(join(at.root, "events.log"))
      .split("\n")
      .filter((line) => line.includes(record.agent));
    expect(events.filter((line) => line.includes('"type":"agent.ended"'))).toHaveLength(1);
    const archived = events.filter((line) => line.includes('"type":"cleanup.archived"'));
    expect(new Set(archived.map((line) => JSON.parse(line).data.path)).size).toBe(archived.length);
  }
});

it("R-004.12: an agent cannot report for another, and so not end it", async () => {
  const at = defaults();
  const other = await run(at, "exec sleep 300");
  const record = await run(at, `${says(at, "completed").replace("progress", `progress ${other.agent}`)} 2>&1; exit 0`);
  await until(
    () =>
      (text(record.log) !== "" && existsSync(join(at.runDir(record), "done.json"))) || existsSync(at.sealed(record)),
    20_000,
  );
  expect(text(record.log)).toContain("report for");
  expect((await at.show(other.agent)).phase).toBe("running");
  expect(at.record()).toBeUndefined();
});

it("R-004.5, R-004.27: a companion that is killed in the silence comes back, and an agent that goes on after all needs none", async () => {
  const at = defaults("6s");
  const record = await run(at, `${says(at, "completed")}; exec sleep 300`);
  const companion = await at.comes();
  process.kill(companion.pid, "SIGKILL");
  await until(() => !lives(companion));
  await isArchived(at, record);
  await at.isGone(15_000);
  const other = await run(at, `${says(at, "completed")}; ${says(at, "working")}; echo on; exec sleep 300`);
  await until(() => text(other.log).includes("on\n"), 20_000);
  await at.isGone(15_000);
  expect([existsSync(join(at.runDir(other), "reported")), existsSync(archivedLog(at, other))]).toEqual([false, false]);
  expect((await at.show(other.agent)).phase).toBe("running");
});
