/**
 * `bench/run.ts [NAME...] [--quick] [--write]`: measures what midwatch promises, beside named peers in the same run. A full
 * run writes docs/bench.md; with names or --quick it only prints, unless --write. Ends with 1 when a bar does not hold.
 * `--against COMMIT [--pairs N]` compares with another commit instead (against.ts).
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { keeperBinary } from "../src/process/keeper-binary.ts";
import { against } from "./against.ts";
import { bench as append } from "./append.ts";
import { bench as cleanup } from "./cleanup.ts";
import { bench as companion } from "./companion.ts";
import { bench as cost } from "./cost.ts";
import { bench as flood } from "./flood.ts";
import { bench as http } from "./http.ts";
import { bench as idleKeepers } from "./idle.ts";
import { bench as install } from "./install.ts";
import { bench as journal } from "./journal.ts";
import { bench as log } from "./log.ts";
import { bench as mask } from "./mask.ts";
import { bench as money } from "./money.ts";
import { bench as nats } from "./nats.ts";
import { bench as nodeExit } from "./node-exit.ts";
import { bench as dashboard } from "./page.ts";
import { bench as positions } from "./positions.ts";
import { bench as record } from "./record.ts";
import { bench as registry } from "./registry.ts";
import { bench as scan } from "./scan.ts";
import { bench as search } from "./search.ts";
import { bench as startExit } from "./start-exit.ts";
import { bench as startUp } from "./start-up.ts";
import { bench as stop } from "./stop.ts";
import { compileLoads } from "./support/load.ts";
import { machine } from "./support/machine.ts";
import { document, page, table } from "./support/page.ts";
import { sweep, traces } from "./support/process.ts";
import type { Bench, Row } from "./support/row.ts";
import { bench as takeover } from "./takeover.ts";
import { bench as unseen } from "./unseen.ts";
import { bench as watchLoad } from "./watch-load.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  install,
  "start-up": startUp,
  "start-exit": startExit,
  "node-exit": nodeExit,
  takeover,
  idle: idleKeepers,
  companion,
  money,
  registry,
  positions,
  "watch-load": watchLoad,
  cost,
  stop,
  cleanup,
  unseen,
  record,
  log,
  append,
  journal,
  scan,
  search,
  mask,
  http,
  flood,
  nats,
  page: dashboard,
};
/** Nothing here may run for ever, whatever hangs. */
const MOST_MS = 30 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    against: { type: "string" },
    pairs: { type: "string", default: "10" },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(BENCHES);
for (const name of names) {
  if (!(name in BENCHES)) {
    console.error(`There is no bench ${name}. There are: ${Object.keys(BENCHES).join(", ")}.`);
    process.exit(2);
  }
}

if (values.against !== undefined) {
  await against({ commit: values.against, names, quick: values.quick, pairs: Number(values.pairs) });
  process.exit(0);
}

const givenKeeper = process.env["MIDWATCH_KEEPER"] !== undefined;
// Not /tmp where that is memory: the figures are about files that are synced.
const base = process.env["TMPDIR"] ?? (existsSync("/var/tmp") ? "/var/tmp" : tmpdir());
const dir = realpathSync(mkdtempSync(join(base, "midwatch-bench-")));
let leaving = false;
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
  process.on(signal, () => leaving || void leave(`stopped by ${signal}`, code));
setTimeout(() => void leave("took too long", 1), MOST_MS).unref();

async function leave(why: string, code: number): Promise<never> {
  leaving = true;
  console.error(`bench: ${why}`);
  await cleanUp(names);
  process.exit(code);
}

/** Ends and removes what a bench has left; says what there was, because there should be nothing. */
async function cleanUp(which: readonly string[]): Promise<string[]> {
  const processes = await sweep(dir);
  const left = which.flatMap((name) => traces(join(dir, name)));
  if (processes > 0) left.push(`${processes} processes`);
  for (const name of which) rmSync(join(dir, name), { recursive: true, force: true, maxRetries: 5 });
  if (which === names) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  return left;
}

function prepare(): (name: string) => string {
  const bin = join(dir, "bin");
  const load = compileLoads(bin);
  // A copy of our own: a build during the run changes nothing, and its processes are known to be ours.
  const keeper = join(bin, "midwatch-keeper");
  copyFileSync(keeperBinary().path, keeper);
  for (const name of Object.keys(process.env)) if (name.startsWith("MIDWATCH_")) delete process.env[name];
  process.env["MIDWATCH_KEEPER"] = keeper;
  process.env["XDG_STATE_HOME"] = join(dir, "state"); // What is made here is gone with it.
  return load;
}

let rows: Row[] = [];
let failed = false;
const begun = performance.now();
const loadBefore = loadavg()[0] ?? 0;
try {
  const load = prepare();
  for (const name of names) {
    const from = performance.now();
    const say = (text: string): void => void process.stderr.write(`${name}: ${text}\n`);
    const own = join(dir, name);
    mkdirSync(own);
    try {
      rows = [...rows, ...(await (BENCHES[name] as Bench)({ quick: values.quick, dir: own, load, say }))];
    } catch (error) {
      failed = true;
      say(`failed: ${error instanceof Error ? error.stack : error}`);
    }
    const left = await cleanUp([name]);
    if (left.length > 0) {
      failed = true;
      say(`left behind: ${left.join(", ")}`);
    }
    say(`${Math.round((performance.now() - from) / 1000)} s`);
  }
} finally {
  await cleanUp(names);
}

const about = machine({
  dir: base,
  quick: values.quick,
  givenKeeper,
  seconds: (performance.now() - begun) / 1000,
  loadBefore,
});
console.log(`${about.join("\n")}\n\n${table(rows)}`);
if (values.write || (positionals.length === 0 && !values.quick && !failed)) writeFileSync(page, document(about, rows));
process.exit(failed || rows.some(({ holds }) => holds === false) ? 1 : 0);
