/**
 * Recording costs the agent nothing: its own writing time under midwatch beside the same program with `>> file`, and, for
 * the default sync, beside `>> file` with a bare C loop that fdatasyncs on the same cadence. The agent times itself, so
 * starting it does not count. Also the keeper's CPU and memory.
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openWorkspace, type Workspace } from "../src/index.ts";
import { best, both, digits, interleave, median, times } from "./support/figures.ts";
import { bytesRead, cpuSeconds, ended, finish, memoryKiB, startReady, until } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

interface Shape {
  lines: string;
  bytes: number;
  line: number;
  write: number;
}

const MB = 1e6;
const SHAPES: readonly Shape[] = [
  { lines: "200 B lines, 64 KiB writes", bytes: 1000 * MB, line: 200, write: 65_536 },
  { lines: "200 B lines, a write each", bytes: 200 * MB, line: 200, write: 200 },
  { lines: "4 KB lines, a write each", bytes: 1000 * MB, line: 4000, write: 4000 },
];
/** Single rounds differ by a fifth, where a disk syncs by a third: their median needs many of them. */
const ROUNDS = { none: 21, interval: 25, tee: 2 };

/** Seconds of the agent's own writing. */
interface Time {
  wall: number;
  cpu: number;
  /** Ready to run, but no core was free: the machine's other load, or the recorder on too few cores. */
  queue: number;
}
type Times = Record<"none" | "bare" | "interval" | "looped" | "tee", Time[]>;

type Mode = "none" | "interval";

interface Keeper {
  cpuPerGb: Record<Mode, number[]>;
  startKiB: number[];
  endKiB: number[];
  ownKiB: number[];
}

export async function bench(options: Options): Promise<Row[]> {
  const root = join(options.dir, "workspace");
  const none = openWorkspace({ workspace: root, make: true, config: { sync: "none" } });
  const interval = openWorkspace({ workspace: root });
  const keeper: Keeper = { cpuPerGb: { none: [], interval: [] }, startKiB: [], endKiB: [], ownKiB: [] };
  const rows: Row[] = [];
  try {
    for (const whole of SHAPES) {
      const shape = options.quick ? { ...whole, bytes: whole.bytes / 10 } : whole;
      const name = `${digits(shape.bytes / MB)} MB, ${shape.lines}`; // the size that is really printed
      options.say(name);
      const taken: Times = { none: [], bare: [], interval: [], looped: [], tee: [] };
      const warm = { ...shape, bytes: shape.bytes / 10 };
      await printed(options, warm, "direct");
      await kept(options, none, warm);
      const variants = {
        none: async (round: number) => {
          if (round < ROUNDS.none) taken.none.push(await kept(options, none, shape, keeper, "none"));
        },
        bare: async (round: number) => {
          if (round < ROUNDS.none) taken.bare.push(await printed(options, shape, "direct"));
        },
        interval: async () => void taken.interval.push(await kept(options, interval, shape, keeper, "interval")),
        looped: async () => void taken.looped.push(await printed(options, shape, "looped")),
        tee: async (round: number) => {
          if (round < ROUNDS.tee) taken.tee.push(await printed(options, shape, "tee"));
        },
      };
      await interleave(variants, ROUNDS.interval);
      rows.push(...shapeRows(name, taken));
    }
  } finally {
    none.close();
    interval.close();
  }
  return [...rows, ...keeperRows(keeper)];
}

/** Under midwatch. */
async function kept(
  options: Options,
  workspace: Workspace,
  shape: Shape,
  keeper?: Keeper,
  mode: Mode = "none",
): Promise<Time> {
  const side = join(options.dir, "side");
  const go = join(options.dir, "go");
  const run = await workspace.runs.start({ argv: [options.load("print"), ...sizes(shape), side, go] });
  const pid = run.keeper_pid as number;
  const before = cpuSeconds(pid);
  await sleep(20); // It answers first, and then gives back the pages that only a start needs.
  keeper?.startKiB.push(memoryKiB(pid).resident);
  const time = await timeIn(side);
  const after = await settled(pid, shape.bytes, mode);
  if (keeper) {
    const { resident, own } = memoryKiB(pid);
    keeper.endKiB.push(resident);
    keeper.ownKiB.push(own);
    // The one-write-a-line shape is left out of CPU per GB: a fifth of the bytes, and mostly the keeper's clock ticks.
    if (shape.write > 200) keeper.cpuPerGb[mode].push(((after - before) / shape.bytes) * 1e9);
  }
  writeFileSync(go, "");
  const [shown] = await workspace.runs.wait([run.agent], { timeoutMs: 60_000 });
  if (shown?.bytes !== shape.bytes) throw new Error(`${run.agent}: ${shown?.bytes} of ${shape.bytes} bytes are there`);
  clear(options, [run.log, side, go]);
  return time;
}

/** Without midwatch: into a file, into a file that a loop syncs, or through tee. */
async function printed(options: Options, shape: Shape, how: "direct" | "looped" | "tee"): Promise<Time> {
  const side = join(options.dir, "side");
  const file = join(options.dir, "plain.log");
  closeSync(openSync(file, "a", 0o600));
  const loop = how === "looped" ? await startReady(options.load("sync-loop"), [file]) : undefined;
  const to = how === "tee" ? '"$@" | tee -a "$0" > /dev/null' : 'exec "$@" >> "$0"';
  const child = spawn("sh", ["-c", to, file, options.load("print"), ...sizes(shape), side], { stdio: "ignore" });
  const end = ended(child);
  const time = await timeIn(side);
  if ((await end) !== 0) throw new Error(`the ${how} producer failed`);
  if (loop) await finish(loop);
  clear(options, [file, side]);
  return time;
}

const sizes = ({ bytes, line, write }: Shape): string[] => [bytes, line, write].map(String);

async function timeIn(side: string): Promise<Time> {
  // Looked for seldom, and for the peers in the same way: the bench must not take time from the two cores it measures.
  const found = (): string | false => existsSync(side) && readFileSync(side, "utf8");
  const text = await until("the agent's own time", found, 120_000, 100);
  const [wall = 0, cpu = 0, queue = 0] = text.split(" ").map(Number);
  return { wall: wall / 1e9, cpu: cpu / 1e6, queue: queue / 1e9 };
}

/** CPU seconds of the keeper once it has read everything and, in the default mode, synced for the last time. */
async function settled(pid: number, bytes: number, mode: Mode): Promise<number> {
  await until("the keeper has read the log", () => bytesRead(pid) >= bytes, 20_000);
  await sleep(mode === "interval" ? 400 : 50);
  return cpuSeconds(pid);
}

/** The same page cache for everybody: what was written is gone, and nothing is on its way to the disk. */
function clear(options: Options, paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
  execFileSync("sync", ["-f", options.dir]);
}

function shapeRows(name: string, taken: Times): Row[] {
  const of = (all: readonly Time[], key: keyof Time): number[] => all.map((one) => one[key]);
  const against = (figure: string, mine: readonly Time[], theirs: readonly Time[], peer: string): Row => {
    const ratio = (pick: typeof median, key: keyof Time): number => pick(of(mine, key)) / pick(of(theirs, key));
    const busy = (all: readonly Time[]): number => median(all.map(({ wall, queue }) => wall - queue));
    const queued = [mine, theirs].map((all) => digits(median(of(all, "queue"))));
    return row({
      promise: "record",
      figure: `${name}: ${figure}`,
      measured: both(of(mine, "wall"), " s"),
      peer: `${peer}: ${both(of(theirs, "wall"), " s")}`,
      ratio: `${times(ratio(median, "wall"))} median, ${times(ratio(best, "wall"))} best; ${times(busy(mine) / busy(theirs))} without waiting for a core`,
      // The median decides: a best round could be a lucky one.
      ...atMost(ratio(median, "wall"), 1.05, " x"),
      note: `${mine.length} rounds; the agent's CPU time ${times(ratio(median, "cpu"))}; waited for a core ${queued[0]} s, the peer ${queued[1]} s`,
    });
  };
  const tee = row({
    promise: "record",
    figure: `${name}: tee, for comparison`,
    measured: both(of(taken.none, "wall"), " s"),
    peer: `\`| tee -a\`: ${both(of(taken.tee, "wall"), " s")}`,
    ratio: `${times(median(of(taken.none, "wall")) / median(of(taken.tee, "wall")))} median`,
    note: `${taken.tee.length} rounds of tee; no bar: a pipe also loses output of real CLIs`,
  });
  return [
    against("sync none", taken.none, taken.bare, "`>> file`"),
    against("default sync", taken.interval, taken.looped, "`>> file` beside a bare fdatasync loop"),
    tee,
  ];
}

function keeperRows({ cpuPerGb, startKiB, endKiB, ownKiB }: Keeper): Row[] {
  const cpu = (figure: string, values: number[], most: number): Row =>
    row({
      promise: "record",
      figure: `keeper CPU, ${figure}`,
      measured: both(values, " s/GB"),
      ...atMost(median(values), most, " s/GB"),
    });
  const most = Math.max(...startKiB, ...endKiB);
  return [
    cpu("sync none", cpuPerGb.none, 0.3),
    cpu("default sync", cpuPerGb.interval, 0.7),
    row({
      promise: "record",
      figure: "keeper memory (RSS)",
      measured: `${digits(median(startKiB))} KiB after the start, ${digits(median(endKiB))} KiB at the end, most ${most} KiB`,
      ...atMost(most, 1024, " KiB"),
      note: `of it ${digits(median(ownKiB))} KiB are data of its own; the rest is program text, which all keepers share`,
    }),
  ];
}
