import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { ListRecord } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lostKeepers } from "../soak/lost-keepers.ts";
import { output } from "../support/cli/output.ts";
import { checkIndex, indexAt, readIndex } from "../support/data/index-check.ts";
import { adopterOf, identify, keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, lives, processesWith, supportFile, text, until } from "../support/workspace.ts";

const TIERS: readonly Tier[] = ["auto", "subreaper"];
const SEED = 5;

/** Prints for some seconds beside a daemon that gave up its environment, its session and its parent. */
async function printing(at: Lab, bytes: number, pauseUs = 2000): Promise<RunRecord & { daemon: number }> {
  const pidFile = join(at.folder, "daemon");
  const printer = `exec "$0" "${supportFile("cli/printer.ts")}" ${SEED} ${bytes} 0 "${join(at.folder, "side")}" ${pauseUs}`;
  const record = await at.workspace.runs.start({
    argv: ["sh", "-c", `(env -i setsid sleep 300 & echo $! >"${pidFile}"); ${printer}`, process.execPath],
  });
  await until(() => text(pidFile).endsWith("\n"));
  const daemon = Number(text(pidFile));
  // The first keeper writes down whom it sees once a second; without that nothing ties this daemon to the run.
  await until(() => text(join(at.runDir(record), "members")).includes(`${daemon} `));
  return { ...record, daemon };
}

describe.each(TIERS)("the keeper is killed -9 (tier %s)", (tier) => {
  it("R-000.6, R-004.3: the agent goes on, the run is lost and adopted, and only an explicit stop ends it, with proof", async () => {
    const at = lab({ tier });
    const record = await printing(at, 60_000_000);
    const daemon = identify(record.daemon);
    const main = at.startFact(record).main as { pid: number; start_ticks: number };
    await until(() => readIndex(readFileSync(record.log.replace(".jsonl", ".idx"))).length > 2);
    await kill9(keeperOf(at, record));

    const size = statSync(record.log).size;
    await until(() => statSync(record.log).size > size, 5000, "the log goes on");
    const entries = readIndex(readFileSync(record.log.replace(".jsonl", ".idx"))).length;
    const lost = await at.open().runs.show(record.agent);
    expect(lost).toMatchObject({ phase: "lost", outcome: "lost", exit: { code: null, signal: null }, ended_at: null });
    expect(lost.alive?.map(({ pid }) => pid)).toEqual(expect.arrayContaining([main.pid, daemon.pid]));

    await until(() => adopterOf(at, record) !== undefined, 5000, "adopted");
    const index = record.log.replace(".jsonl", ".idx");
    await until(() => readIndex(readFileSync(index)).length > entries + 3, 10_000, "the index goes on");

    const refused = await at.cli("restart", "--json", record.agent);
    expect([refused.code, JSON.parse(refused.stderr).error.code]).toEqual([4, "REFUSED_ALIVE"]);
    expect(refused.stdout).toBe("");
    for (const dryRun of [true, false]) {
      const reaped = await at.workspace.runs.reap({ dryRun });
      expect(reaped).toEqual([
        { agent: record.agent, run: 1, phase: "lost", alive: lost.alive?.length, action: "listed" },
      ]);
    }
    expect([lives(main), lives(daemon)]).toEqual([true, true]);

    const [reaped] = await at.workspace.runs.reap({ lost: true, graceMs: 200 });
    expect(reaped).toMatchObject({ action: "stopped", report: { verified: true, outcome: "stopped", left: [] } });
    const report = reaped?.report;
    expect(report?.exit).toEqual({ code: null, signal: null });
    expect(report?.guarantee).toBe(tier === "subreaper" ? "scan" : record.guarantee === "cgroup" ? "cgroup" : "scan");
    expect(report?.processes.map(({ pid }) => pid)).toEqual(expect.arrayContaining([main.pid, daemon.pid]));
    expect([lives(main), lives(daemon)]).toEqual([false, false]);
    expect(at.survivors()).toEqual([]);
    const log = await at.raw(record.agent);
    expect(log.equals(output(SEED, 60_000_000).subarray(0, log.length))).toBe(true);
    expect(checkIndex(log, readFileSync(index))).toEqual([]);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({
      phase: "drained",
      outcome: "stopped",
      alive: null,
    });
    expect(existsSync(join(at.root, "active", `${record.agent}.1`))).toBe(false);
  });

  it("a lost run that ends by itself: exit null, outcome lost, never 0, and the log and its index are whole", async () => {
    const at = lab({ tier });
    const side = join(at.folder, "side");
    const record = await at.run(process.execPath, supportFile("cli/printer.ts"), "9", "4000000", "0", side, "2000");
    await until(() => statSync(record.log).size > 100_000);
    await kill9(keeperOf(at, record));
    const waited = await at.cli("wait", "--json", "--timeout", `${patient(30_000)}ms`, record.agent);
    const over = JSON.parse(waited.stdout) as ListRecord;
    expect(over).toMatchObject({ phase: "drained", outcome: "lost", exit: { code: null, signal: null } });
    expect(waited.code).toBe(1);
    const log = await at.raw(record.agent);
    expect(log.equals(output(9, 4_000_000))).toBe(true);
    expect(checkIndex(log, readFileSync(record.log.replace(".jsonl", ".idx")))).toEqual([]);
    // Nothing of it lives: it may be started again.
    expect((await at.workspace.runs.restart(record.agent)).run).toBe(2);
  });

  it("stop ends a lost run although its log and folders were deleted", async () => {
    const at = lab({ tier });
    const record = await at.sh("sleep 300 & sleep 300");
    await kill9(keeperOf(at, record));
    rmSync(join(at.root, record.task, "logs"), { recursive: true, maxRetries: 20, retryDelay: 5 });
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 100 });
    expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    expect(at.survivors()).toEqual([]);
  });

  it("killed in the middle of a stop: the caller goes on with another keeper", async () => {
    const at = lab({ tier });
    const record = await at.sh('trap "" INT TERM; echo ready; while :; do sleep 0.1; done');
    await until(() => statSync(record.log).size > 0);
    const stopping = at.workspace.runs.stop([record.agent], { graceMs: patient(1500) });
    await until(() => existsSync(join(at.runDir(record), "stop.json")));
    await kill9(keeperOf(at, record));
    const [report] = await stopping;
    expect(report).toMatchObject({ verified: true, outcome: "stopped", exit: { code: null, signal: null } });
    expect(at.survivors()).toEqual([]);
  });

  it("the adopter is killed too: the next process adopts again and the stop is still proven", async () => {
    const at = lab({ tier });
    const record = await printing(at, 100_000_000);
    const daemon = identify(record.daemon);
    await kill9(keeperOf(at, record));
    await at.workspace.runs.list();
    const first = adopterOf(at, record);
    expect(first).toBeDefined();
    await kill9(first as { pid: number; start_ticks: number });
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "lost" });
    await until(() => adopterOf(at, record) !== undefined, 5000, "adopted again");
    expect(adopterOf(at, record)?.pid).not.toBe(first?.pid);
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 100 });
    expect(report?.verified).toBe(true);
    expect([lives(daemon), at.survivors()]).toEqual([false, []]);
    const log = await at.raw(record.agent);
    expect(checkIndex(log, indexAt(record.log.replace(".jsonl", ".idx")))).toEqual([]);
  });
});

it("of six processes that find a lost run at once one adopts it", async () => {
  const at = lab();
  const record = await at.sh("sleep 300");
  const { nonce } = at.intent(record);
  await kill9(keeperOf(at, record));
  const seen = await Promise.all(Array.from({ length: 6 }, () => at.cli("show", "--json", record.agent)));
  expect(seen.map(({ code, stdout }) => [code, JSON.parse(stdout).phase])).toEqual(seen.map(() => [0, "lost"]));
  expect(processesWith([nonce]).filter(({ keeper }) => keeper)).toEqual([
    expect.objectContaining({ pid: adopterOf(at, record)?.pid }),
  ]);
});

it("R-004.5: whoever asked for a stop is killed -9 at once: the keeper ends the run all the same", async () => {
  const at = lab();
  const record = await at.sh('trap "" INT TERM; echo ready; while :; do sleep 0.1; done');
  await until(() => statSync(record.log).size > 0);
  const caller = at.node(CLI, "stop", "--workspace", at.root, record.agent);
  await until(() => existsSync(join(at.runDir(record), "stop.json")));
  caller.kill("SIGKILL");
  const [over] = await at.workspace.runs.wait([record.agent], { timeoutMs: patient(10_000) });
  expect(over).toMatchObject({ phase: "drained", outcome: "stopped", exit: { signal: "SIGKILL" } });
});

describe.runIf(mayMount).each(TIERS)("the keeper is killed -9 while the run is held (tier %s)", (tier) => {
  const MIB = 1 << 20;

  async function held(at: Lab): Promise<RunRecord & { filler: string }> {
    const filler = join(at.folder, "filler");
    writeFileSync(filler, Buffer.alloc(20 * MIB, 1));
    const side = join(at.folder, "side");
    const record = await at.run(
      process.execPath,
      supportFile("cli/printer.ts"),
      "3",
      String(15 * MIB),
      "0",
      side,
      "300",
    );
    await until(async () => (await at.workspace.runs.show(record.agent)).hold !== null, 20_000, "held");
    await kill9(keeperOf(at, record));
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "lost", hold: { why: "disk" } });
    return { ...record, filler };
  }
  const config = { tier, disk_warn: "12M", disk_refuse: "10M", disk_floor: "8M" } as const;

  it("R-000.12: it stays held, and goes on when there is room", async () => {
    const at = lab(config, tmpfs("size=32m"));
    const { agent, log, filler } = await held(at);
    await until(async () => (await at.workspace.runs.show(agent)).alive?.length);
    const size = statSync(log).size;
    await at.workspace.runs.wait([agent], { timeoutMs: 500 });
    expect(statSync(log).size).toBe(size);
    rmSync(filler);
    const [over] = await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect(over).toMatchObject({ phase: "drained", outcome: "lost", hold: null });
    expect((await at.raw(agent)).equals(output(3, 15 * MIB))).toBe(true);
  });

  it("R-000.12: a stop ends it", async () => {
    const at = lab(config, tmpfs("size=32m"));
    const { agent } = await held(at);
    const [report] = await at.workspace.runs.stop([agent], { graceMs: 300 });
    expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    expect(at.survivors()).toEqual([]);
  });
});

it("R-004.3: keepers killed at any moment, the launch included: what ran is found and ended (8 rounds)", async () => {
  const { failures, figures } = await lostKeepers(8, 7);
  console.log("lost keepers", figures);
  expect(failures).toEqual([]);
});
