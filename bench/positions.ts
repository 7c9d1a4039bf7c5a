/**
 * A round over 1,000 logs: where was I, what is new, remember. Beside it the seed's way: a checksum of the first KB by MD5, and the whole
 * JSON file of all positions written anew (temporary name, rename; its lock and its fsync are left out, which favours it) for each log.
 * Then the same ten new lines of each log read, judged and summed up, beside nothing but JSON.parse of them. And what the seed promises for
 * one log: to find its place in it, to see that it was rotated, to keep the places of 100 agents.
 */
import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type AgentId, parseAgentId, parseTaskId } from "../src/core/ids.ts";
import { driverNamed } from "../src/drivers/index.ts";
import type { Facts } from "../src/judge/judge.ts";
import { type CursorRow, Registry } from "../src/registry/registry.ts";
import type { Watching } from "../src/registry/watched.ts";
import { StreamState } from "../src/stream/stream-state.ts";
import { readNewLines } from "../src/watch/file-reader.ts";
import { HeldFiles } from "../src/watch/held-files.ts";
import { RunReading } from "../src/watch/run-reading.ts";
import { makeSummary } from "../src/watch/summary.ts";
import { PlainLog } from "../test/support/cli/plain-log.ts";
import { both, digits, median, times } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const LOGS = 1000;
const NEW_LINES = 10;
const BAR = 100;
const MOST_MS = 50;
const MOST_CPU_S = 5;

export async function bench({ dir, quick, say }: Options): Promise<Row[]> {
  const logs = quick ? 200 : LOGS;
  const rounds = quick ? 2 : 25;
  const folder = join(dir, "logs");
  mkdirSync(folder);
  const paths = Array.from({ length: logs }, (_, i) => join(folder, `agent-${i}_stream.jsonl`));
  for (const path of paths) writeFileSync(path, lines(0, 100));
  const registry = Registry.open(join(dir, "positions.db"));
  const ours = new Map<string, CursorRow>();
  using files = new HeldFiles();
  const theirs = new Seed(join(dir, "monitor_positions.json"));
  const took = {
    ours: [] as number[],
    oursCpu: [] as number[],
    theirs: [] as number[],
    theirsCpu: [] as number[],
    judged: [] as number[],
    parsed: [] as number[],
    wall: [] as number[],
  };
  const all = paths.map(watched);
  try {
    round(registry, files, paths, ours);
    theirs.round(paths);
    await judgedRound(registry, all);
    say(`${rounds} rounds over ${logs} logs`);
    for (let n = 0; n < rounds; n++) {
      const more = lines(100 + n * NEW_LINES, NEW_LINES);
      for (const path of paths) appendFileSync(path, more);
      took.oursCpu.push(cpuOf(() => took.ours.push(timed(() => round(registry, files, paths, ours)))));
      took.theirsCpu.push(cpuOf(() => took.theirs.push(timed(() => theirs.round(paths)))));
      const begun = performance.now();
      const before = process.threadCpuUsage();
      await judgedRound(registry, all);
      const { user, system } = process.threadCpuUsage(before);
      took.wall.push(performance.now() - begun);
      took.judged.push((user + system) / 1e6);
      const texts = more.trim().split("\n");
      took.parsed.push(timed(() => parseAll(texts, paths.length)) / 1000);
    }
    return [...rows(logs, took), ...single(registry, folder, quick)];
  } finally {
    registry.close();
  }
}

const SEED = { seekMs: 1, rotationMs: 5, keepMs: 100, agents: 100 };

function single(registry: Registry, folder: string, quick: boolean): Row[] {
  const agent = parseAgentId("bench-1");
  const path = join(folder, "long.jsonl");
  using files = new HeldFiles();
  const times = { seek: [] as number[], rotation: [] as number[], keep: [] as number[] };
  for (let n = 0; n < (quick ? 5 : 50); n++) {
    writeFileSync(path, lines(0, quick ? 2000 : 20_000));
    let cursor: CursorRow | undefined;
    for (let more = true; more; ) ({ cursor, more } = readNewLines(agent, path, cursor, files));
    const place = cursor as CursorRow;
    appendFileSync(path, lines(0, 1));
    times.seek.push(timed(() => readNewLines(agent, path, place, files)));
    renameSync(path, `${path}.1`);
    writeFileSync(path, lines(0, 1));
    // As one who has just begun finds it: who held the old file open would read its rest first.
    using fresh = new HeldFiles();
    times.rotation.push(timed(() => readNewLines(agent, path, place, fresh)));
    const places = Array.from({ length: SEED.agents }, (_, i) => ({ ...place, agent: parseAgentId(`agent-${i}`) }));
    times.keep.push(timed(() => registry.watched.putCursors(places)));
  }
  const promise = "positions";
  const ms = (took: readonly number[], most: number): Pick<Row, "measured" | "bar" | "holds"> => ({
    measured: both(took, " ms"),
    ...atMost(median(took), most, " ms"),
  });
  return [
    row({ promise, figure: "one new line of a long log, from the place", ...ms(times.seek, SEED.seekMs) }),
    row({ promise, figure: "a look at a log that was rotated", ...ms(times.rotation, SEED.rotationMs) }),
    row({ promise, figure: `${SEED.agents} places kept`, ...ms(times.keep, SEED.keepMs) }),
  ];
}

type Took = Record<"ours" | "oursCpu" | "theirs" | "theirsCpu" | "judged" | "parsed" | "wall", readonly number[]>;

function rows(logs: number, took: Took): Row[] {
  const ratio = median(took.theirs) / median(took.ours);
  // Over all rounds: the kernel counts in ticks of 4 ms or 10 ms, and one round takes a few of them.
  const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  const cpuRatio = total(took.theirsCpu) / total(took.oursCpu);
  const cpu = median(took.judged);
  const perLine = (cpu * 1e6) / (logs * NEW_LINES);
  return [
    row({
      promise: "positions",
      figure: `a round over ${logs} logs with ${NEW_LINES} new lines each`,
      measured: both(took.ours, " ms"),
      peer: `the whole JSON file for each log: ${both(took.theirs, " ms")}`,
      ratio: times(ratio),
      bar: `≥ ${BAR} x`,
      holds: ratio >= BAR,
      note: `look, read and store; ${times(cpuRatio)} in CPU time; ≤ ${MOST_MS} ms is reached for: ${median(took.ours) <= MOST_MS ? "yes" : "no"}`,
    }),
    row({
      promise: "watch",
      figure: `${NEW_LINES} new lines of ${logs} logs read, judged, summed up and stored`,
      measured: `${digits(cpu)} s CPU, ${digits(perLine)} µs a line; ${both(took.wall, " ms")}`,
      peer: `JSON.parse of the lines: ${digits(median(took.parsed))} s`,
      ratio: `${times(cpu / median(took.parsed))} JSON.parse`,
      bar: `≤ ${MOST_CPU_S} s CPU`,
      holds: cpu <= MOST_CPU_S,
      note: "one transaction a round; opening 1,000 files is part of it",
    }),
  ];
}

/** Tool uses and their results, as Claude Code prints them. */
function lines(from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i;
    const part =
      n % 2 === 0
        ? { type: "tool_use", id: `t${n}`, name: "Bash", input: { command: `npm test -- part ${n}` } }
        : { type: "tool_result", tool_use_id: `t${n - 1}`, content: `ok ${n}\n${"a line of output. ".repeat(20)}` };
    const usage = { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 1000 };
    const type = n % 2 === 0 ? "assistant" : "user";
    return JSON.stringify({ type, message: { id: `m${n}`, usage, content: [part] }, session_id: "s" });
  })
    .map((line) => `${line}\n`)
    .join("");
}

function round(registry: Registry, files: HeldFiles, paths: readonly string[], cursors: Map<string, CursorRow>): void {
  const agent = parseAgentId("bench-1");
  const changed: CursorRow[] = [];
  for (const path of paths) {
    const { cursor, lines: fresh } = readNewLines(agent, path, cursors.get(path), files);
    if (fresh.length > 0) changed.push(cursor);
    cursors.set(path, cursor);
  }
  registry.watched.putCursors(changed);
}

/** One agent as the watch has it. */
interface Watched {
  agent: AgentId;
  stream: StreamState;
  reading: RunReading;
}

function watched(path: string, i: number): Watched {
  const reading = new RunReading("Make npm test pass");
  const driver = driverNamed("claude");
  const stream = new StreamState(new PlainLog(path), { driver, before: null, listener: reading.take });
  return { agent: parseAgentId(`agent-${i}`), stream, reading };
}

async function judgedRound(registry: Registry, all: readonly Watched[]): Promise<void> {
  const task = parseTaskId("TASK-20260101-000000-00000000");
  const nothing = { outcome: null, why: null, hold: null, process: null };
  const watching: Watching[] = [];
  for (const { agent, stream, reading } of all) {
    await stream.readOn(true, 4 << 20);
    const nowMs = Date.now();
    const facts: Facts = { nowMs, phase: "running", startedMs: nowMs, lastOutputMs: nowMs, speaks: true, ...nothing };
    const { place, result } = stream;
    const summary = makeSummary({
      subject: { agent, task, run: 1, name: null, role: null, parent: null, model: null, assigned: "" },
      facts,
      judgement: reading.judge.verdict(facts),
      recent: reading.recent,
      result,
      cost: { usd: null, estimated: false },
      place,
      badLines: 0,
      bytes: () => ({ start: 0, end: 0 }),
      previous: null,
      final: false,
    });
    const data = summary as unknown as Record<string, unknown>;
    watching.push({
      cursor: { agent, log: "stream", run: 1, ...place, file: null },
      summary: { agent, run: 1, id: summary.id, final: 0, data },
      verdict: summary.on_track_status,
    });
  }
  registry.watched.commit(watching);
}

interface SeedPosition {
  instance_id: string;
  log_type: string;
  file_path: string;
  last_byte_offset: number;
  last_line_number: number;
  last_read_timestamp: string;
  checksum: string;
}

/** The seed's tracker and reader: positions in memory, the whole file written at each update. */
class Seed {
  readonly #path: string;
  readonly #positions: Record<string, SeedPosition> = {};

  constructor(path: string) {
    this.#path = path;
  }

  round(paths: readonly string[]): void {
    for (const path of paths) {
      const fd = openSync(path, "r");
      const head = Buffer.alloc(1024);
      const got = readSync(fd, head, 0, head.length, 0);
      const checksum = createHash("md5").update(head.subarray(0, got)).digest("hex");
      const before = this.#positions[path];
      const offset = before?.checksum === checksum ? before.last_byte_offset : 0;
      const rest = Buffer.alloc(statSync(path).size - offset);
      readSync(fd, rest, 0, rest.length, offset);
      closeSync(fd);
      const fresh = rest.toString().split("\n").slice(0, -1);
      const line = (before?.last_line_number ?? 0) + fresh.length;
      this.#positions[path] = {
        instance_id: path.slice(-40),
        log_type: "stream",
        file_path: path,
        last_byte_offset: offset + rest.length,
        last_line_number: line,
        last_read_timestamp: new Date().toISOString(),
        checksum,
      };
      writeFileSync(`${this.#path}.tmp`, JSON.stringify(this.#positions, null, 2));
      renameSync(`${this.#path}.tmp`, this.#path);
    }
    readFileSync(this.#path);
  }
}

function parseAll(texts: readonly string[], times: number): void {
  for (let i = 0; i < times; i++) for (const text of texts) JSON.parse(text);
}

/** Seconds of CPU of this thread: what is left of a figure when others take the cores away. */
function cpuOf(act: () => void): number {
  const before = process.threadCpuUsage();
  act();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1e6;
}

function timed(act: () => void): number {
  const begun = performance.now();
  act();
  return performance.now() - begun;
}
