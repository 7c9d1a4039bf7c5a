/** The journal: durable appends beside the seed's lock and fsync and beside a bare fdatasync; snapshots of a short and of a long one. */
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, fsyncSync, mkdirSync, openSync, rmdirSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { layout } from "../src/disk/layout.ts";
import { EmbeddedLog } from "../src/journal/embedded.ts";
import { type JournalEvent, makeEvent } from "../src/journal/event.ts";
import { headingsOf } from "../src/journal/snapshot/render.ts";
import { takeSnapshot } from "../src/journal/snapshot/snapshot.ts";
import { digits, interleave, median, ms, times } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const CALLERS = 256;
const headings = headingsOf(undefined);

function event(n: number): JournalEvent {
  return makeEvent({
    interaction: Math.floor(n / 10),
    actor: "Agent A",
    type: n % 2 ? "answer" : "question",
    content: `text ${n} ${"x".repeat(120)}`,
  });
}

export async function bench(options: Options): Promise<Row[]> {
  return [...(await appends(options)), ...(await snapshots(options))];
}

async function appends({ quick, dir }: Options): Promise<Row[]> {
  const forMs = quick ? 500 : 2000;
  const rates = { ours: [] as number[], seed: [] as number[] };
  const single = { ours: [] as number[], bare: [] as number[] };
  const log = new EmbeddedLog(join(dir, "events.log"));
  const bare = openSync(join(dir, "bare.log"), "a");
  const seed = join(dir, "seed.log");
  const timed = async (act: () => unknown, into: number[]): Promise<void> => {
    for (const until = performance.now() + forMs / 4; performance.now() < until; ) {
      const begun = performance.now();
      await act();
      into.push(performance.now() - begun);
    }
  };
  await interleave(
    {
      ours: async () => {
        const begun = performance.now();
        let done = 0;
        const call = async (): Promise<void> => {
          for (; performance.now() - begun < forMs; done++) await log.append([event(done)]);
        };
        await Promise.all(Array.from({ length: CALLERS }, call));
        rates.ours.push((done / (performance.now() - begun)) * 1000);
      },
      seed: async () => {
        const begun = performance.now();
        let done = 0;
        for (; performance.now() - begun < forMs; done++) {
          mkdirSync(`${seed}.lock`);
          const fd = openSync(seed, "a");
          writeSync(fd, `${JSON.stringify(event(done))}\n`);
          fsyncSync(fd);
          closeSync(fd);
          rmdirSync(`${seed}.lock`);
        }
        rates.seed.push((done / (performance.now() - begun)) * 1000);
      },
      one: () => timed(() => log.append([event(1)]), single.ours),
      bare: () =>
        timed(() => {
          writeSync(bare, `${JSON.stringify(event(1))}\n`);
          fdatasyncSync(bare);
        }, single.bare),
    },
    5,
  );
  closeSync(bare);
  await log.close();
  const many = median(rates.ours) / median(rates.seed);
  const one = median(single.ours) / median(single.bare);
  return [
    row({
      promise: "journal, durable",
      figure: "256 callers ≥ 60 x the seed's way",
      measured: `${digits(median(rates.ours))} events/s`,
      peer: `lock + open + write + fsync + close: ${digits(median(rates.seed))}/s`,
      ratio: times(many),
      bar: "≥ 60 x",
      holds: many >= 60,
      note: "the seed starts flock(1), jq and two shells for each; here its lock is a mkdir, which favours it",
    }),
    row({
      promise: "journal, one event",
      figure: "p50 ≤ 2 x a bare write + fdatasync",
      measured: ms(median(single.ours)),
      peer: `write + fdatasync: ${ms(median(single.bare))}`,
      ratio: times(one),
      ...atMost(one, 2, " x"),
    }),
  ];
}

async function snapshots({ quick, dir, say }: Options): Promise<Row[]> {
  const [short, long] = [1000, quick ? 100_000 : 1_000_000];
  const made = async (count: number) => {
    const root = join(dir, String(count));
    mkdirSync(root);
    const files = layout(root);
    for (let n = 0; n < count; n += 10_000) {
      const lines = Array.from({ length: Math.min(10_000, count - n) }, (_, i) => `${JSON.stringify(event(n + i))}\n`);
      writeFileSync(files.events, lines.join(""), { flag: "a" });
    }
    return { files, log: new EmbeddedLog(files.events), count, took: [] as number[] };
  };
  say(`making journals of ${short} and ${long} events`);
  const journals = { short: await made(short), long: await made(long) };
  const begun = performance.now();
  await takeSnapshot(journals.long.files, journals.long.log, { keep: 3, headings });
  const rebuilt = performance.now() - begun;
  const before = performance.now();
  execFileSync("jq", ["-c", "."], {
    stdio: [openSync(journals.long.files.events, "r"), openSync("/dev/null", "w"), "inherit"],
  });
  const jq = performance.now() - before;
  await takeSnapshot(journals.short.files, journals.short.log, { keep: 3, headings });
  const one = async ({ files, log, count, took }: (typeof journals)["short"]): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await log.append([event(count + took.length)]);
      const from = performance.now();
      await takeSnapshot(files, log, { keep: 3, headings });
      took.push(performance.now() - from);
    }
  };
  await interleave({ short: () => one(journals.short), long: () => one(journals.long) }, quick ? 5 : 20);
  for (const { log } of Object.values(journals)) await log.close();
  const grown = median(journals.long.took) / median(journals.short.took);
  const whole = rebuilt / jq;
  return [
    row({
      promise: "snapshot, one more event",
      figure: "the same at 1 k and 1 M events",
      measured: `${ms(median(journals.long.took))} at ${digits(long)}`,
      peer: `${ms(median(journals.short.took))} at ${digits(short)}`,
      ratio: times(grown),
      ...atMost(grown, 1.5, " x"),
      note: "with fsync of both files",
    }),
    row({
      promise: "snapshot, full rebuild",
      figure: "≤ 3 x jq -c .",
      measured: `${ms(rebuilt)} for ${digits(long)} events`,
      peer: `jq -c . > /dev/null: ${ms(jq)}`,
      ratio: times(whole),
      ...atMost(whole, 3, " x"),
    }),
  ];
}
