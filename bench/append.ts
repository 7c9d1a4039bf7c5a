/** Our JSONL writer beside sonic-boom (no sync) and beside the seeds' open + write + fsync + close (durable). */
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import sonicBoom from "sonic-boom";
import { Appender } from "../src/disk/appender.ts";
import { digits, interleave, median, times } from "./support/figures.ts";
import { type Options, type Row, row } from "./support/row.ts";

const RECORD = {
  v: 1,
  id: "0192f0c0-0000-7000-8000-000000000000",
  interaction: 1,
  actor: "Agent A",
  type: "question",
  content: "x".repeat(60),
  timestamp: "2026-11-15T19:00:00.123Z",
};
const CALLERS = 256;

export async function bench(options: Options): Promise<Row[]> {
  const count = options.quick ? 50_000 : 300_000;
  const ms = options.quick ? 500 : 2000;
  const rates = { ours: [] as number[], sonic: [] as number[], durable: [] as number[], seed: [] as number[] };
  const file = (name: string): string => join(options.dir, `${name}.log`);
  let lost = 0;
  await interleave(
    {
      ours: async () => {
        const appender = new Appender(file("ours"), { durable: false });
        const begun = performance.now();
        for (let i = 0; i < count; i++) appender.write(RECORD);
        appender.flush();
        rates.ours.push((count / (performance.now() - begun)) * 1000);
        appender.close();
        lost += count - statSync(file("ours")).size / (JSON.stringify(RECORD).length + 1);
        rmSync(file("ours"));
      },
      sonic: async () => {
        const boom = new sonicBoom.SonicBoom({ dest: file("sonic"), sync: true, minLength: 0 });
        const begun = performance.now();
        for (let i = 0; i < count; i++) boom.write(`${JSON.stringify(RECORD)}\n`);
        boom.flushSync();
        rates.sonic.push((count / (performance.now() - begun)) * 1000);
        boom.destroy();
        rmSync(file("sonic"));
      },
      durable: async () => {
        const appender = new Appender(file("durable"));
        const begun = performance.now();
        let done = 0;
        await Promise.all(
          Array.from({ length: CALLERS }, async () => {
            while (performance.now() - begun < ms) {
              await appender.append([RECORD]);
              done++;
            }
          }),
        );
        rates.durable.push((done / (performance.now() - begun)) * 1000);
        appender.close();
        rmSync(file("durable"));
      },
      seed: async () => {
        const begun = performance.now();
        let done = 0;
        for (; performance.now() - begun < ms; done++) {
          const fd = openSync(file("seed"), "a");
          writeSync(fd, `${JSON.stringify(RECORD)}\n`);
          fsyncSync(fd);
          closeSync(fd);
        }
        rates.seed.push((done / (performance.now() - begun)) * 1000);
        rmSync(file("seed"));
      },
    },
    5,
  );
  const fast = median(rates.ours) / median(rates.sonic);
  const durable = median(rates.durable) / median(rates.seed);
  return [
    row({
      promise: "append without sync",
      figure: "≥ 4 x sonic-boom",
      measured: `${digits(median(rates.ours))} records/s, ${lost} lost`,
      peer: `sonic-boom, sync: ${digits(median(rates.sonic))}/s`,
      ratio: times(fast),
      bar: "≥ 4 x",
      holds: fast >= 4 && lost === 0,
      note: "records of 215 B, JSON included in both",
    }),
    row({
      promise: "append, durable",
      figure: "256 callers ≥ 60 x the seeds' way",
      measured: `${digits(median(rates.durable))} records/s`,
      peer: `open + write + fsync + close: ${digits(median(rates.seed))}/s`,
      ratio: times(durable),
      bar: "≥ 60 x",
      holds: durable >= 60,
      note: "each record acknowledged after fdatasync; the seeds' lock is left out, which favours them",
    }),
  ];
}
