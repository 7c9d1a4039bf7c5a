/** What hiding secrets costs: a log of real streams read as records with and without it, and text that was made to take long beside ordinary text. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { masker, nothingBefore } from "../src/core/mask/mask.ts";
import { Log } from "../src/log/log.ts";
import { toRecord } from "../src/log/record.ts";
import { best, digits, interleave, times } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const STREAMS = join(import.meta.dirname, "..", "test", "fixtures", "streams", "*.jsonl");
const SIZE = 1 << 20;
const ROUNDS = 15;
/** The worst that a search over what rules look for found: none of it is a secret, all of it begins like one. */
const WORST: readonly string[] = [
  "xoxb-",
  "sk-",
  "sk-a ",
  "sk-aaaa-",
  "-eyJaaaaaaaa",
  "password=",
  "token=token=",
  "TOKEN=abcdef ",
  "password=a1b2c3 ",
  "sig=",
  "key=",
  "x://a:b",
  "-----BEGIN PRIVATE KEY-----",
  "%2525",
  "\\u0041",
  "\u001b[31m",
  "\u001b]8;;a",
  "Bearer aaaaaaaa ",
];

export async function bench(options: Options): Promise<Row[]> {
  const streams = Buffer.concat(globSync(STREAMS).map((path) => readFileSync(path)));
  const ordinary = Buffer.concat(Array<Buffer>(Math.ceil(SIZE / streams.length)).fill(streams));
  const plain = write(options, "ordinary", ordinary.subarray(0, ordinary.lastIndexOf(10, SIZE) + 1));
  const took: Record<string, number[]> = { bare: [], masked: [] };
  const runs: Record<string, () => Promise<void>> = {
    bare: async () => void took["bare"]?.push(read(plain, false)),
    masked: async () => void took["masked"]?.push(read(plain, true)),
  };
  for (const [i, part] of WORST.entries()) {
    const path = write(options, `worst-${i}`, Buffer.from(`${part.repeat(Math.ceil(SIZE / part.length))}\n`));
    took[part] = [];
    runs[part] = async () => void took[part]?.push(read(path, true));
  }
  await interleave(runs, options.quick ? 5 : ROUNDS);
  // The best of each: who else works on the machine is not measured.
  const of = (name: string): number => best(took[name] ?? []);
  const cost = of("masked") / of("bare");
  const worst = WORST.toSorted((a, b) => of(b) - of(a))[0] as string;
  return [
    row({
      promise: "masks",
      figure: "1 MiB of real streams read as records, masked",
      measured: `${digits(of("masked"))} ms`,
      peer: `not masked: ${digits(of("bare"))} ms`,
      ratio: times(cost),
    }),
    row({
      promise: "masks",
      figure: "1 MiB of the worst text in one line, masked",
      measured: `${digits(of(worst))} ms`,
      peer: `real streams, masked: ${digits(of("masked"))} ms`,
      ratio: times(of(worst) / of("masked")),
      ...(options.quick ? {} : atMost(of(worst) / of("masked"), 2, " x")),
      note: `${JSON.stringify(worst)} again and again`,
    }),
  ];
}

function write({ dir }: Options, name: string, bytes: Buffer): string {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  return path;
}

/** As a page is made: lines, records, JSON. */
function read(path: string, masked: boolean): number {
  const begun = performance.now();
  using log = Log.open(path, undefined, { type: "stdout", json: false }) as Log;
  const hide = masker();
  const before = nothingBefore();
  for (const { raw, record } of log.records({ offset: 0, line: 0 }, log.end(false))) {
    const bytes = masked ? hide.line(raw.bytes, before) : raw.bytes;
    JSON.stringify(
      bytes === raw.bytes ? record : toRecord({ ...raw, bytes }, null, 0, { type: "stdout", json: false }),
    );
  }
  return performance.now() - begun;
}
