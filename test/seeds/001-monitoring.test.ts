// Seed 001, in its order: its modules and examples through the library, with the defaults, then the cases of its test files. Its
// IncrementalLogReader is `verdicts.readFile`, whose `commit` is its update_position; its PositionTracker is `verdicts.positions`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { describe, expect, expectTypeOf, it } from "vitest";
import { loadConfig } from "../../src/core/config/config.ts";
import { type AgentSummary, type LogPosition, openWorkspace, type Verdict, type Workspace } from "../../src/index.ts";
import { lab } from "../support/lab.ts";
import { ended, type Lab, supportFile, text } from "../support/workspace.ts";

const AGENT = "agent-123";
const WORKER = supportFile("worker/place-worker.ts");
const ON_TRACK_STATUS = ["on_track", "drifting", "off_track", "blocked", "unknown"] as const;
const SIXTEEN =
  "instance_id, instance_name, timestamp, current_activity, on_track_status, confidence_score, assigned_task, parent_instance_id, role, last_tool_used, recent_tools, output_preview, idle_duration_seconds, drift_reasons, alignment_keywords, recommended_action".split(
    ", ",
  );

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `line ${from + n}`);

/** A log that is no agent's, as its example has it. */
function stage(lines: readonly string[] = []): { at: Lab; path: string } {
  const at = lab();
  const path = join(at.folder, "tmux_output.log");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return { at, path };
}

/** Its read_new_content. */
function readNew({ verdicts }: Workspace, path: string): { lines: string[]; total: number } {
  const { lines, total, commit } = verdicts.readFile(AGENT, path);
  commit();
  return { lines, total };
}

const placeOf = ({ verdicts }: Workspace, path: string): LogPosition | undefined =>
  verdicts.positions.all().find(({ agent, log }) => agent === AGENT && log === path);

describe("models.py and config.py", () => {
  it("R-001.1, R-001.19: test_models: the five values, and no other", () => {
    expectTypeOf<Verdict>().toEqualTypeOf<(typeof ON_TRACK_STATUS)[number]>();
  });

  it("R-001.3, R-001.18, R-001.21: AgentSummary: its fields, which JSON gives back as they were, on the disk and from the library", async () => {
    const at = lab();
    const run = await at.sh("echo working; exit 3");
    await at.workspace.runs.wait([run.agent]);
    const summary: AgentSummary = await at.workspace.verdicts.of(run.agent);
    expect(Object.keys(summary)).toEqual(expect.arrayContaining([...SIXTEEN, "evidence"]));
    expect(ON_TRACK_STATUS).toContain(summary.on_track_status);
    expect(summary).toMatchObject({ instance_id: run.agent, on_track_status: "blocked" });
    expect(summary.confidence_score).toBeGreaterThan(0);
    expect(summary.confidence_score).toBeLessThanOrEqual(1);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
    const folder = join(at.root, run.task, "summaries", run.agent);
    expect(JSON.parse(text(join(folder, "latest_summary.json")))).toEqual(summary);
    expect(text(join(folder, "summary_history.jsonl")).trim().split("\n")).toHaveLength(1);
  });

  it("R-001.4: MonitoringConfig: its defaults are ours", () => {
    expect(loadConfig()).toMatchObject({
      watch_poll: 12_000,
      watch_lines: 200,
      watch_backoff: 10_000,
      watch_streaming: "on",
      llm_model: "claude-haiku-4-5",
    });
  });
});

describe("its examples", () => {
  it("R-001.11, R-001.13, R-001.17: Basic Usage: 200 lines at most, then the next, then only what is new", () => {
    const { at, path } = stage(numbered(0, 450));
    expect(readNew(at.workspace, path)).toEqual({ lines: numbered(0, 200), total: 200 });
    expect(readNew(at.workspace, path)).toEqual({ lines: numbered(200, 400), total: 400 });
    expect(readNew(at.workspace, path)).toEqual({ lines: numbered(400, 450), total: 450 });
    expect(readNew(at.workspace, path)).toEqual({ lines: [], total: 450 });
    appendFileSync(path, "line 450\n");
    expect(readNew(at.workspace, path)).toEqual({ lines: ["line 450"], total: 451 });
  });

  it("R-001.2, R-001.5, R-001.8: Position Tracking: offset, line, time and checksum, seen by the next process; all; removed", () => {
    const { at, path } = stage(numbered(0, 3));
    expect(placeOf(at.workspace, path)).toBeUndefined();
    readNew(at.workspace, path);
    const place = placeOf(at.open(), path) as LogPosition; // As after a restart: nothing of the first is in it.
    expect(place).toMatchObject({ agent: AGENT, log: path, offset: 21, line: 3, checksum: expect.any(Number) });
    expect(place.updated_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(at.workspace.verdicts.positions.get(place.agent, path)).toEqual(place);
    expect(at.workspace.verdicts.positions.all()).toHaveLength(1);
    at.workspace.verdicts.positions.remove(place.agent, path);
    expect(at.workspace.verdicts.positions.all()).toEqual([]);
  });

  it("R-001.12, R-001.15: Log Rotation Handling: another file at the name, one that was cut, and a reset", () => {
    const { at, path } = stage(numbered(0, 3));
    readNew(at.workspace, path);
    renameSync(path, `${path}.1`);
    writeFileSync(path, "anew\n");
    expect(readNew(at.workspace, path)).toEqual({ lines: ["anew"], total: 4 });
    truncateSync(path);
    appendFileSync(path, "cut\n");
    expect(readNew(at.workspace, path)).toEqual({ lines: ["cut"], total: 5 });
    const place = placeOf(at.workspace, path) as LogPosition;
    at.workspace.verdicts.positions.reset(place.agent, path);
    expect(readNew(at.workspace, path)).toEqual({ lines: ["cut"], total: 1 });
  });
});

describe("test_position_tracker.py", () => {
  it("R-001.6, R-001.19: eight processes that keep their places at once: each is there, none is another's", async () => {
    const { at, path } = stage(numbered(0, 1000));
    const readers = Array.from({ length: 8 }, (_, n) => `reader-${n}`);
    const said = await Promise.all(
      readers.map((reader) => ended(spawn(process.execPath, [WORKER, at.root, path, reader, "20"]))),
    );
    expect(said.map(({ code, stdout }) => [code, stdout])).toEqual(readers.map(() => [0, "ready\n1000\n"]));
    const all = at.workspace.verdicts.positions.all();
    expect(all.map(({ agent }) => agent).sort()).toEqual(readers);
    expect(new Set(all.map(({ line }) => line))).toEqual(new Set([1000]));
  });

  it("R-001.7, R-001.19: killed while it writes places down: they are whole, and the next one goes on from them", async () => {
    const { at, path } = stage(numbered(0, 3));
    for (let n = 0; n < 5; n++) {
      const child = spawn(process.execPath, [WORKER, at.root, path, AGENT, "1000000"]);
      await once(child.stdout, "data");
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      expect(placeOf(at.open(), path)).toMatchObject({ offset: 21, line: 3 });
    }
    expect(at.workspace.checkRegistry()).toEqual([]);
  });

  it("R-001.10, R-001.19: a state that was spoilt, a folder that is gone, no place at all: reading begins anew, and nothing throws", () => {
    const { at, path } = stage(numbered(0, 3));
    expect(at.workspace.verdicts.positions.all()).toEqual([]);
    readNew(at.workspace, path);
    at.workspace.close();
    for (const name of ["midwatch.db-wal", "midwatch.db-shm"]) rmSync(join(at.root, name), { force: true });
    writeFileSync(join(at.root, "midwatch.db"), "not the file it was");
    expect(readNew(at.open(), path)).toEqual({ lines: numbered(0, 3), total: 3 });
    const other = openWorkspace({ workspace: join(at.folder, "not", "there", "yet"), make: true });
    expect(other.verdicts.positions.all()).toEqual([]);
    expect(readNew(other, path).total).toBe(3);
    other.close();
  });
});

describe("test_log_reader.py", () => {
  it("R-001.16, R-001.19: no file, an empty one, a folder, bytes that are no UTF-8: no error, and a note where there is nothing to read", () => {
    const { at, path } = stage();
    expect(readNew(at.workspace, path)).toEqual({ lines: [], total: 0 });
    const missing = at.workspace.verdicts.readFile(AGENT, join(at.folder, "none.log"));
    expect(missing).toMatchObject({ lines: [], total: 0, note: "There is no such file." });
    mkdirSync(join(at.folder, "folder"));
    expect(at.workspace.verdicts.readFile(AGENT, join(at.folder, "folder")).lines).toEqual([]);
    appendFileSync(path, Buffer.from([0x61, 0xff, 0xfe, 0x62, 0x0a]));
    expect(readNew(at.workspace, path).lines).toEqual(["a\ufffd\ufffdb"]); // Its errors="replace".
  });

  it("R-001.11: a line that is being written is read when it is whole", () => {
    const { at, path } = stage();
    appendFileSync(path, "half");
    expect(readNew(at.workspace, path).lines).toEqual([]);
    appendFileSync(path, " and half\n");
    expect(readNew(at.workspace, path).lines).toEqual(["half and half"]);
  });

  it("R-001.14: read_last_n_lines: of an agent's log, and the places stay as they are", async () => {
    const at = lab();
    const run = await at.sh("seq -f 'line %.0f' 0 999");
    await at.workspace.runs.wait([run.agent]);
    const before = at.workspace.verdicts.positions.all();
    const last: unknown[] = [];
    for await (const record of at.workspace.logs.records(run.agent, { lines: 3 })) last.push(record.text);
    expect(last).toEqual(numbered(997, 1000));
    expect(at.workspace.verdicts.positions.all()).toEqual(before);
  });
});

describe("Performance Characteristics", () => {
  it("R-001.20: a place for each of 150 agents takes less than 1 KiB each; what is read is what is new, in a log of 200 MB too", () => {
    const { at, path } = stage(numbered(0, 3));
    const { positions } = at.workspace.verdicts;
    readNew(at.workspace, path);
    const place = placeOf(at.workspace, path) as LogPosition;
    positions.update(
      Array.from({ length: 150 }, (_, n) => ({ ...place, agent: `worker-${n}` as LogPosition["agent"] })),
    );
    expect(positions.all()).toHaveLength(151);
    for (const row of positions.all()) expect(Buffer.byteLength(JSON.stringify(row))).toBeLessThan(1024);
    truncateSync(path, 200 << 20); // A hole: a log as long as it says, to whoever reads all of it.
    appendFileSync(path, "\nnew\n");
    const end = (200 << 20) + 1;
    const mark = place.file as NonNullable<typeof place.file>;
    // As if all before had been read.
    positions.update([{ ...place, offset: end, line: 4, file: { ...mark, seen: end, tail: zeros() } }]);
    const bytes = bytesRead(() => expect(readNew(at.workspace, path).lines).toEqual(["new"]));
    expect(bytes).toBeLessThan(1 << 20);
  });
});

/** The sum of what stands before the place: 1,023 zeros and a newline. */
function zeros(): number {
  const tail = Buffer.alloc(1024);
  tail[1023] = 10;
  return crc32(tail);
}

function bytesRead(act: () => void): number {
  const count = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/thread-self/io", "latin1"))?.[1]);
  const before = count();
  act();
  return count() - before;
}
