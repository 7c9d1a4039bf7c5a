// `scan.ts SCANNER JOB FILE [INDEX]`: does the job once and prints {seconds (CPU), rss (MB), answer}. SCANNER is kernel or
// plain; `parse` is what people do without us: a chunk at a time, each line to a string and through JSON.parse.
import { follow } from "../../src/core/progress.ts";
import { buildIndex } from "../../src/log/build-index.ts";
import { Log } from "../../src/log/log.ts";
import { giveBack, KernelScanner, makeScanner, NEWLINE, PlainScanner } from "../../src/log/scanner.ts";
import { search } from "../../src/log/search.ts";
import { verify } from "../../src/log/verify.ts";
import { peakMb } from "../support/peak.ts";

const CHUNK = 1 << 20;

const [scanner = "", job = "", file = "", index] = process.argv.slice(2);
const made = scanner === "kernel" ? KernelScanner.make(18 * CHUNK) : new PlainScanner(18 * CHUNK);
if (made === undefined) throw new Error("there is no kernel: npm run build");
giveBack(made); // Whoever asks for a scanner now gets this one.
const log = Log.open(file, index, { type: "line", json: true }) as Log;
const end = log.source.size();

function parse(): number {
  const { bytes } = makeScanner(CHUNK);
  let lines = 0;
  for (let at = 0; at < end; ) {
    const n = log.source.read(bytes.subarray(0, CHUNK), at);
    let start = 0;
    for (let next = bytes.indexOf(NEWLINE); next >= 0 && next < n; next = bytes.indexOf(NEWLINE, start)) {
      JSON.parse(bytes.toString("utf8", start, next));
      lines++;
      start = next + 1;
    }
    if (start === 0) throw new Error("a line longer than a chunk, or an unfinished one");
    at += start;
  }
  return lines;
}

const jobs: Record<string, () => number | Promise<number>> = {
  count: () => log.count(0, end),
  search: () => [...search(log, "no such needle", 0, end)].length,
  index: () => buildIndex(log.source, end).length,
  verify: async () => (await follow(verify(log, end), "checked")).lines,
  parse,
};
const before = process.cpuUsage();
const answer = await jobs[job]?.();
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ seconds: (user + system) / 1e6, rss: peakMb(), answer }));
