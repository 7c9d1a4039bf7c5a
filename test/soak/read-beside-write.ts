/** A reader by cursor, a hundred times a second, beside an agent that prints in bursts: no error, no loss, no repeat. */
import { setTimeout as sleep } from "node:timers/promises";
import { Log, type LogPlace } from "../../src/log/log.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const READ_MS = 10;
/** Prints numbered lines of changing length in bursts, now and then a line in two pieces. */
const PRINTER = `const { writeSync } = require("node:fs");
  let n = 0, seed = Number(process.argv[1]);
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const tick = () => {
    for (let i = Math.floor(next() * 40); i > 0; i--) {
      const line = JSON.stringify({ n: ++n, text: "x".repeat(next() < 0.02 ? 200000 * next() : 300 * next()) }) + "\\n";
      const cut = next() < 0.2 ? Math.floor(next() * line.length) : line.length;
      writeSync(1, line.slice(0, cut));
      if (cut < line.length) writeSync(1, line.slice(cut));
    }
    setTimeout(tick, next() * 20);
  };
  tick();`;

/** `count` is in seconds. */
export function readBesideWrite(count: number, seed = 1): Promise<Report> {
  return campaign("reader beside a writer (seconds)", count, seed, async (fail, figures) => {
    const lab = new Lab({ output_limit: "64GiB" });
    try {
      const { agent, log: path } = await lab.run(process.execPath, "-e", PRINTER, String(seed));
      const index = path.replace(/\.jsonl$/, ".idx");
      let place: LogPlace = { offset: 0, line: 0 };
      let [reads, last] = [0, 0];
      const read = (live: boolean): void => {
        const log = Log.open(path, index, { type: "stdout", json: true }) as Log;
        try {
          const end = log.end(live);
          for (const { record } of log.records(place, end)) {
            const n = (record?.data as { n?: number } | undefined)?.n;
            if (record?.partial) continue;
            if (n !== last + 1 || record?.seq !== n)
              fail(`behind ${last} came ${JSON.stringify(record)?.slice(0, 200)}`);
            last = n ?? last;
          }
          place = { offset: end, line: (place.line ?? 0) + log.count(place.offset, end) };
          reads++;
        } finally {
          log.close();
        }
      };
      for (const until = performance.now() + count * 1000; performance.now() < until; ) {
        const begun = performance.now();
        read(true);
        await sleep(Math.max(0, READ_MS - (performance.now() - begun)));
      }
      await lab.workspace.runs.stop([agent], { graceMs: 0 });
      read(false);
      const verified = await lab.workspace.logs.verify(agent);
      if (verified.index !== "ok" || verified.bad_count > 1) fail(JSON.stringify(verified));
      Object.assign(figures, { reads, lines: last, MB: Math.round(place.offset / 1e6) });
    } finally {
      await lab.end();
    }
  });
}
