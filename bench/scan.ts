/**
 * Looking at every byte of a log: counting, searching and verifying, with the kernel and without, beside wc, ripgrep and a
 * loop of JSON.parse. CPU seconds on cached files of 1 GB, because the machine's other work would only blur the time of day.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, globSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildIndex } from "../src/log/build-index.ts";
import { FileSource } from "../src/log/source.ts";
import { random } from "../test/support/data/random.ts";
import { best, both, interleave, median, times } from "./support/figures.ts";
import { type Options, type Row, row } from "./support/row.ts";

const WORKER = fileURLToPath(new URL("./load/scan.ts", import.meta.url));
const ROUNDS = 3;
const SHAPES = ["200 B lines", "mixed lines"] as const;
/** Given again and again up to the size. */
const BLOCK = 64e6;
const RSS_MAX = 150;

type Job = "count" | "index" | "search" | "verify" | "verify with index";
/** How many times the peer's speed is promised with the kernel, and without. */
const BARS: Readonly<Record<Job, readonly [number, number] | undefined>> = {
  count: [0.7, 0.15],
  index: [0.7, 0.15],
  search: [0.5, 0.15],
  verify: [3, 0.8],
  "verify with index": undefined,
};
const PEERS: Readonly<Record<Job, string>> = {
  count: "`wc -l`",
  index: "`wc -l`",
  search: "`rg --no-mmap`",
  verify: "JSON.parse of each line",
  "verify with index": "JSON.parse of each line",
};

export async function bench(options: Options): Promise<Row[]> {
  const rows: Row[] = [];
  for (const shape of SHAPES) {
    const bytes = options.quick ? BLOCK : 1e9;
    const file = join(options.dir, "log");
    options.say(`${shape}: writing`);
    write(file, shape, bytes);
    rows.push(...(await shapeRows(options, file, shape)));
    rmSync(file);
  }
  return rows;
}

async function shapeRows(options: Options, file: string, shape: string): Promise<Row[]> {
  const source = FileSource.open(file) as FileSource;
  const index = `${file}.idx`;
  writeFileSync(index, buildIndex(source, source.size()));
  source.close();
  const took = new Map<string, number[]>();
  let rss = 0;
  const add = (name: string, seconds: number): void => void took.set(name, [...(took.get(name) ?? []), seconds]);
  const ours = (scanner: "kernel" | "plain", job: Job | "parse") => async (): Promise<void> => {
    options.say(`${shape}: ${scanner} ${job}`);
    const [name = "", withIndex] = job.split(" ");
    const args = [WORKER, scanner, name, file, ...(withIndex ? [index] : [])];
    const done = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
      seconds: number;
      rss: number;
    };
    add(`${scanner} ${job}`, done.seconds);
    if (job !== "parse") rss = Math.max(rss, done.rss);
  };
  const peer =
    (name: Job, ...command: string[]) =>
    async (): Promise<void> =>
      add(name, cpuOf(command));
  const variants: Record<string, () => Promise<void>> = {
    wc: peer("count", "wc", "-l", file),
    parse: ours("plain", "parse"),
  };
  if (spawnSync("rg", ["--version"]).status === 0)
    variants["rg"] = peer("search", "rg", "--no-mmap", "-F", "no such needle", file);
  for (const job of Object.keys(BARS) as Job[])
    for (const scanner of ["kernel", "plain"] as const) variants[`${scanner} ${job}`] = ours(scanner, job);
  await interleave(variants, ROUNDS);
  took.set("index", took.get("count") ?? []);
  for (const job of ["verify", "verify with index"] as const) took.set(job, took.get("plain parse") ?? []);
  const rows = (Object.keys(BARS) as Job[]).flatMap((job) => jobRows(shape, job, took));
  return [...rows, rssRow(shape, rss)];
}

function jobRows(shape: string, job: Job, took: ReadonlyMap<string, number[]>): Row[] {
  const theirs = took.get(job);
  return (["kernel", "plain"] as const).map((scanner, i) => {
    const mine = took.get(`${scanner} ${job}`) as number[];
    const bar = BARS[job]?.[i];
    const base = { promise: "scan", figure: `${job}, ${shape}, ${scanner}`, measured: both(mine, " s CPU") };
    if (theirs === undefined) return row({ ...base, note: `${PEERS[job]} is not here: apt-get install ripgrep` });
    const speed = median(theirs) / median(mine);
    return row({
      ...base,
      peer: `${PEERS[job]}: ${both(theirs, " s CPU")}`,
      ratio: `${times(speed)} as fast (best ${times(best(theirs) / best(mine))})`,
      ...(bar === undefined ? {} : { bar: `≥ ${bar} x`, holds: speed >= bar }),
    });
  });
}

function rssRow(shape: string, rss: number): Row {
  return row({
    promise: "scan",
    figure: `memory (RSS) of the process, ${shape}`,
    measured: `at most ${Math.round(rss)} MB`,
    bar: `≤ ${RSS_MAX} MB`,
    holds: rss <= RSS_MAX,
    note: "of all jobs, with and without the kernel",
  });
}

/** Seconds of user and system time of a command; bash counts them in ms. */
function cpuOf(command: readonly string[]): number {
  const timed = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$@" > /dev/null', "bash", ...command], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" },
  });
  const [user, system] = timed.stderr.trim().split(" ").map(Number) as [number, number];
  return user + system;
}

/** Lines like those of an agent's stream, made of this repository's own text. */
function write(file: string, shape: (typeof SHAPES)[number], bytes: number): void {
  const text = globSync(["src/**/*.ts", "keeper/*.c", "docs/*.md"])
    .map((path) => readFileSync(path, "utf8"))
    .join("");
  const next = random(1);
  const whole = (most: number): number => Math.floor(next() * most);
  const cut = (length: number): string => text.substr(whole(text.length - length), length);
  const session_id = "0b7c3f4e-1d2a-4c5b-9e8f-a1b2c3d4e5f6";
  const uuid = (): string => `msg_${whole(1e15).toString(36)}`;
  const short = (): object => {
    const delta = { type: "text_delta", text: cut(4 + whole(20)) };
    return {
      type: "stream_event",
      event: { type: "content_block_delta", index: whole(9), delta },
      session_id,
      uuid: uuid(),
    };
  };
  const mixed = (): object => {
    const normal = Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
    const said = `${cut(Math.min(60_000, Math.floor(Math.exp(5.6 + 1.25 * normal))))}${next() < 0.2 ? " – “日本語” 🎉" : ""}`;
    const usage = { input_tokens: whole(1e5), output_tokens: whole(1e4), cache: null, ok: true, cost: next() };
    const message = { id: uuid(), role: "assistant", content: [{ type: "text", text: said }], usage };
    return { type: "assistant", message, session_id, uuid: uuid() };
  };
  const lines: Buffer[] = [];
  for (let size = 0; size < BLOCK; size += lines.at(-1)?.length ?? 0)
    lines.push(Buffer.from(`${JSON.stringify(shape === "200 B lines" ? short() : mixed())}\n`));
  const block = Buffer.concat(lines);
  const fd = openSync(file, "w");
  for (let size = 0; size < bytes; size += block.length) writeSync(fd, block);
  closeSync(fd);
}
