/** Reading a log of 10 GB: tail and page beside GNU tail and sed, memory included; archives of real-looking streams. */
import { spawnSync } from "node:child_process";
import { closeSync, globSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { follow } from "../src/core/progress.ts";
import { packFile } from "../src/disk/archive.ts";
import { buildIndex } from "../src/log/build-index.ts";
import { Log } from "../src/log/log.ts";
import { FileSource } from "../src/log/source.ts";
import { best, digits, interleave, median, times } from "./support/figures.ts";
import { type Options, type Row, row } from "./support/row.ts";

const GB = 1e9;
const ROUNDS = 9;
const READER = fileURLToPath(new URL("./load/read.ts", import.meta.url));

export async function bench(options: Options): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, length] of [
    ["200 B", 200],
    ["100 KB", 100_000],
  ] as const) {
    const bytes = options.quick ? 0.2 * GB : 10 * GB;
    const file = join(options.dir, "log");
    options.say(`writing ${digits(bytes / GB)} GB of ${name} lines`);
    write(file, bytes, length);
    rows.push(...(await readRows(options, file, name, Math.floor(bytes / length))));
    rmSync(file);
    rmSync(`${file}.idx`);
  }
  rows.push(...(await archiveRows(options)));
  return rows;
}

/** Lines of one length, each with its number in front. */
function write(file: string, bytes: number, length: number): void {
  const fd = openSync(file, "w");
  const padding = "x".repeat(length - 24);
  const perBlock = Math.max(1, Math.floor((1 << 20) / length));
  for (let n = 0; n * length < bytes; ) {
    let block = "";
    for (let i = 0; i < perBlock; i++)
      block += `{"n":"${String(n++).padStart(12, "0")}","t":"${padding.slice(0, length - 28)}"}\n`;
    writeSync(fd, block);
  }
  closeSync(fd);
}

async function readRows(options: Options, file: string, name: string, lines: number): Promise<Row[]> {
  const source = FileSource.open(file) as FileSource;
  writeFileSync(`${file}.idx`, buildIndex(source, source.size()));
  const size = source.size();
  source.close();
  const far = Math.min(5_000_000, Math.floor(lines / 2));
  const took = { tail: [] as number[], gnu: [] as number[], page: [] as number[], sed: [] as number[] };
  let count = 0;
  const timed = (into: number[], act: () => void) => async (): Promise<void> => {
    const from = performance.now();
    act();
    into.push(performance.now() - from);
  };
  await interleave(
    {
      tail: timed(took.tail, () => {
        const log = Log.open(file, `${file}.idx`, { type: "stdout", json: true }) as Log;
        const end = log.end(false);
        count = [...log.records(log.tail(100, end), end)].length;
        log.close();
      }),
      gnu: timed(took.gnu, () => void spawnSync("tail", ["-n", "100", file], { maxBuffer: 1 << 28 })),
      page: timed(took.page, () => {
        const log = Log.open(file, `${file}.idx`, { type: "stdout", json: true }) as Log;
        const end = log.end(false);
        for (const _ of log.records(log.atLine(far, end), log.atLine(far + 10, end).offset));
        log.close();
      }),
    },
    ROUNDS,
  );
  await timed(
    took.sed,
    () => void spawnSync("sed", ["-n", `${far + 1},${far + 10}p;${far + 10}q`, file], { maxBuffer: 1 << 28 }),
  )();
  const cold: number[] = [];
  for (let i = 0; i < 5; i++) {
    // Drops what the system has cached of the two files.
    for (const path of [file, `${file}.idx`]) spawnSync("dd", [`if=${path}`, "iflag=nocache", "count=0"]);
    await timed(cold, () => {
      const log = Log.open(file, `${file}.idx`, { type: "stdout", json: true }) as Log;
      const end = log.end(false);
      const at = Math.floor((lines * (i + 1)) / 7);
      for (const _ of log.records(log.atLine(at, end), log.atLine(at + 10, end).offset));
      log.close();
    })();
  }
  const indexPart = statSync(`${file}.idx`).size / size;
  const rss = Number(spawnSync(process.execPath, [READER, file], { encoding: "utf8" }).stdout);
  options.say(
    `${name}: tail ${digits(median(took.tail))} ms, page ${digits(median(took.page))} ms, ${Math.round(rss)} MB`,
  );
  return [
    row({
      promise: `tail 100 of ${digits(size / GB)} GB, ${name} lines`,
      figure: "exactly 100 records, ≤ 1.0 x GNU tail",
      measured: `${count} records, median ${digits(median(took.tail))} ms`,
      peer: `GNU tail, its process included: median ${digits(median(took.gnu))} ms`,
      ratio: times(median(took.tail) / median(took.gnu)),
      bar: "≤ 1.0 x",
      holds: count === 100 && median(took.tail) <= median(took.gnu),
      note: "records are parsed; warm",
    }),
    row({
      promise: `page at line ${far.toLocaleString("en-US")}, ${name} lines`,
      figure: "≤ 1 ms warm, index ≤ 0.02 %",
      measured: `best ${digits(best(took.page))} ms, median ${digits(median(took.page))} ms, index ${(indexPart * 100).toFixed(4)} %`,
      peer: `sed -n p;q: ${digits(took.sed[0] ?? 0)} ms`,
      ratio: times(median(took.page) / (took.sed[0] ?? 1)),
      bar: "≤ 1 ms",
      holds: name === "200 B" ? best(took.page) <= 1 && indexPart <= 0.0002 : indexPart <= 0.0002,
      note:
        name === "200 B"
          ? "open, find, read 10 records, close"
          : "10 records are 1 MB of JSON here: no bar for the time",
    }),
    row({
      promise: `the same, cold, ${name} lines`,
      figure: "≤ 5 ms",
      measured: `best ${digits(best(cold))} ms, median ${digits(median(cold))} ms`,
      bar: "≤ 5 ms",
      holds: name === "200 B" ? median(cold) <= 5 : null,
      note: "log and index out of the cache (dd iflag=nocache)",
    }),
    row({
      promise: `memory while reading, ${name} lines`,
      figure: "RSS ≤ 150 MB",
      measured: `${Math.round(rss)} MB at the most`,
      peer: "-",
      ratio: "-",
      bar: "≤ 150 MB",
      holds: rss <= 150,
      note: "a process of its own: tail, page, count and verify of the whole file",
    }),
  ];
}

/** 100 MB of agent streams: recorded ones where BENCH_STREAMS names a folder of them, else made of this repository's own text. */
function streams(bytes: number): { text: Buffer; from: string } {
  const folder = process.env["BENCH_STREAMS"];
  const recorded = folder ? globSync(join(folder, "**/*.jsonl")).map((path) => readFileSync(path, "utf8")) : [];
  const sources = globSync(["src/**/*.ts", "keeper/*.c", "docs/*.md"]).map((path) => readFileSync(path, "utf8"));
  const parts: string[] = [];
  let size = 0;
  for (let i = 0; size < bytes; i++) {
    const part =
      recorded.length > 0
        ? (recorded[i % recorded.length] as string).replace(/[0-9a-f]{8}(?=-)/g, () =>
            Math.random().toString(16).slice(2, 10).padEnd(8, "0"),
          )
        : made(sources[i % sources.length] as string, i);
    parts.push(part.endsWith("\n") ? part : `${part}\n`);
    size += part.length;
  }
  return {
    text: Buffer.from(parts.join("")),
    from: recorded.length > 0 ? "recorded streams with varied ids" : "streams made of this repository's text",
  };
}

function made(source: string, i: number): string {
  const lines: string[] = [];
  for (let at = 0, n = 0; at < source.length; n++) {
    const length = 40 + ((i * 7919 + n * 104_729) % 1500);
    const id = (i * 1_000_003 + n * 7919).toString(16).padStart(12, "0");
    lines.push(
      JSON.stringify({
        type: n % 3 === 0 ? "user" : "assistant",
        uuid: `0192f0c0-${id}`,
        session_id: `s-${i}`,
        message: {
          role: "assistant",
          content: [{ type: "text", text: source.slice(at, at + length) }],
          usage: { input_tokens: i * n, output_tokens: length },
        },
      }),
    );
    at += length;
  }
  return lines.join("\n");
}

async function archiveRows(options: Options): Promise<Row[]> {
  const { text, from } = streams(options.quick ? 10e6 : 100e6);
  const plain = join(options.dir, "stream.jsonl");
  const packed = `${plain}.zst`;
  writeFileSync(plain, text);
  const cpu = process.cpuUsage();
  const { bytes, packed: size } = await follow(
    packFile(plain, packed, () => undefined),
    "packed",
  );
  const seconds = process.cpuUsage(cpu);
  const index = join(options.dir, "stream.idx");
  const source = FileSource.open(plain) as FileSource;
  writeFileSync(index, buildIndex(source, source.size()));
  source.close();
  const lines = text.filter((byte) => byte === 10).length;
  const pages: number[] = [];
  for (let i = 0; i < 50; i++) {
    const begun = performance.now();
    const log = Log.open(packed, index, { type: "stdout", json: true }) as Log;
    const end = log.end(false);
    const at = Math.floor((lines * i) / 50);
    for (const _ of log.records(log.atLine(at, end), log.atLine(at + 10, end).offset));
    log.close();
    pages.push(performance.now() - begun);
  }
  return [
    row({
      promise: "archive",
      figure: "≤ 0.30 of the bytes; a page ≤ 5 ms",
      measured: `${(size / bytes).toFixed(3)}; page median ${digits(median(pages))} ms; ${digits(bytes / 1e6 / ((seconds.user + seconds.system) / 1e6))} MB/s CPU`,
      peer: "the plain file",
      ratio: times(size / bytes),
      bar: "≤ 0.30, ≤ 5 ms",
      holds: size / bytes <= 0.3 && median(pages) <= 5,
      note: `${digits(bytes / 1e6)} MB of ${from}`,
    }),
  ];
}
