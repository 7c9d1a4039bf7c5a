/**
 * Three real processes want to lead. Again and again the leader is stopped (SIGSTOP) at a named point, or killed, and another one has to
 * follow; then it goes on and writes what it had begun. In the end the journal is judged by rules of its own: behind the election of
 * a term nobody sees a line of an older one, each term has one writer, and forged elections change nothing.
 */
import type { ChildProcess } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "../../src/core/ids.ts";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import type { JournalEvent } from "../../src/journal/event.ts";
import type { LeaseValue } from "../../src/journal/lease.ts";
import { fenced } from "../../src/journal/term.ts";
import { readProcess } from "../../src/process/identity.ts";
import { pick, random } from "../support/data/random.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, percentile, type Report, rounds } from "./report.ts";

/** Where the leader stops. Those of an election stop the one that follows, in the middle of becoming the leader. */
const LEADING = [
  "appending",
  "appending",
  "written",
  "read",
  "renewing",
  "register looked",
  "register linked",
  "renewed",
] as const;
const ELECTING = ["taken", "mark looked", "marked", "elected"] as const;
const WORKERS = 3;
/** Nobody may need longer than this to follow, however loaded the machine is. */
const PATIENCE_MS = 30_000;

interface Worker {
  child: ChildProcess;
  name: string;
}

export function leaderStops(count: number, seed = 1, ttlMs = 500): Promise<Report> {
  return campaign("leaders stopped and killed", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    const hangs: number[] = [];
    const crashes: number[] = [];
    let longest = 0;
    try {
      const watch = (took: number): void => {
        longest = Math.max(longest, took);
      };
      const start = (): Promise<Worker> => startWorker(lab, ttlMs, watch);
      const workers = await Promise.all(Array.from({ length: WORKERS }, start));
      const engine = new EmbeddedEngine(layout(lab.root));
      for (const round of rounds(count)) {
        const say = (what: string): void => fail(`round ${round} of seed ${seed}: ${what}`);
        if (next() < 0.1) forge(lab, next);
        if (next() < 0.15) {
          const begun = await lead(engine, workers);
          const gone = performance.now();
          begun.child.kill("SIGKILL");
          const i = workers.indexOf(begun);
          await following(engine, begun.name, PATIENCE_MS).catch(() => say("nobody followed a killed leader"));
          crashes.push(performance.now() - gone);
          workers[i] = await start();
        } else {
          const step = pick(next, [...LEADING, ...LEADING, ...ELECTING]);
          const took = await stopOne(engine, workers, step).catch((error) => void say(`${step}: ${error}`));
          if (took !== undefined) hangs.push(took);
        }
      }
      await engine.close();
      await Promise.all(workers.map(({ child }) => end(child)));
      const judged = await judge(lab, fail);
      Object.assign(figures, judged, {
        "follows a crash, ms, median": percentile(crashes, 0.5),
        "follows a crash, ms, most": percentile(crashes, 1),
        "follows a standstill, in times of the lease, median": (percentile(hangs, 0.5) / ttlMs).toFixed(2),
        "follows a standstill, in times of the lease, most": (percentile(hangs, 1) / ttlMs).toFixed(2),
        "longest append of another, ms": Math.round(longest),
      });
    } finally {
      await lab.end();
    }
  });
}

/** Stops a process at the step and lets it go on when another leads; gives how long that took. */
async function stopOne(engine: EmbeddedEngine, workers: Worker[], step: string): Promise<number> {
  let victim = await lead(engine, workers);
  if ((ELECTING as readonly string[]).includes(step)) {
    // Whoever follows next stops while it takes over: all others are told, and the leader gives way by a stop of its own.
    for (const { child } of workers) if (child !== victim.child) child.send({ stopAt: step });
    const first = victim;
    first.child.kill("SIGSTOP");
    const stopped = (): Worker | undefined => workers.find((one) => one !== first && state(one) === "T");
    await until(() => stopped() !== undefined, PATIENCE_MS, `somebody stops at ${step}`);
    victim = stopped() as Worker;
    first.child.kill("SIGCONT");
  } else {
    victim.child.send({ stopAt: step });
    await until(
      () => state(victim) === "T" || state(victim) === undefined,
      PATIENCE_MS,
      `${victim.name} stops at ${step}`,
    );
  }
  const begun = performance.now();
  try {
    await following(engine, victim.name, PATIENCE_MS);
    return performance.now() - begun;
  } finally {
    for (const { child } of workers) {
      child.send({ stopAt: "nowhere" });
      child.kill("SIGCONT");
    }
  }
}

/** The one that holds the lease now, among the living. */
async function lead(engine: EmbeddedEngine, workers: readonly Worker[]): Promise<Worker> {
  let found: Worker | undefined;
  await until(
    async () => {
      const value = (await engine.get<LeaseValue>("leases/leader"))?.value;
      found = workers.find(({ name }) => name === value?.holder);
      return found !== undefined && state(found) !== "T" && (await engine.get(`leases/leader/term-${value?.term}`));
    },
    PATIENCE_MS,
    "somebody leads",
  );
  return found as Worker;
}

/** Another one holds the lease. */
async function following(engine: EmbeddedEngine, before: string, ms: number): Promise<void> {
  const other = async (): Promise<boolean> => {
    const holder = (await engine.get<LeaseValue>("leases/leader"))?.value?.holder;
    return holder !== undefined && holder !== before;
  };
  await until(other, ms, `another than ${before} leads`);
}

async function startWorker(lab: Lab, ttlMs: number, watch: (took: number) => void): Promise<Worker> {
  const child = lab.node(supportFile("worker/leader-worker.ts"), lab.root, String(ttlMs));
  const name = await new Promise<string>((resolve, reject) => {
    child.once("message", ({ name: told }: { name: string }) => resolve(told));
    child.once("exit", () => reject(new Error("a worker ended")));
  });
  let stoodStill = false;
  child.on("message", ({ took }: { took?: number }) => {
    // A process that was stopped itself was not held up by another.
    if (took !== undefined && !stoodStill) watch(took);
    stoodStill = false;
  });
  const kill = child.kill.bind(child);
  child.kill = (signal) => {
    if (signal === "SIGCONT") stoodStill = true;
    return kill(signal);
  };
  return { child, name };
}

function state({ child }: Worker): string | undefined {
  return readProcess(child.pid ?? 0)?.state;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill("SIGCONT");
  child.send("end");
  await until(() => child.exitCode !== null || child.signalCode !== null, PATIENCE_MS, "a worker ends");
}

/** Somebody appends an election, and a line in its term, by hand. */
function forge(lab: Lab, next: () => number): void {
  const term = 1 + Math.floor(next() * 2000);
  const line = (type: string): string =>
    `${JSON.stringify({ v: 1, id: uuidv7(), interaction: 1, actor: "forger", type, content: "", timestamp: new Date().toISOString(), term })}\n`;
  appendFileSync(join(lab.root, "events.log"), line("leader_election") + line("led"));
}

async function judge(lab: Lab, fail: (what: string) => void): Promise<Record<string, number>> {
  const lines = readFileSync(join(lab.root, "events.log"), "utf8").trimEnd().split("\n");
  const raw = lines.map((line) => JSON.parse(line) as JournalEvent);
  const mark = (term: number): string => {
    try {
      return (JSON.parse(readFileSync(join(lab.root, "leases", "leader", `term-${term}`), "utf8")) as { event: string })
        .event;
    } catch {
      return "";
    }
  };
  const seen: JournalEvent[] = [];
  const engine = new EmbeddedEngine(layout(lab.root));
  for await (const item of fenced(engine).read()) if ("event" in item) seen.push(item.event);
  await engine.close();
  let term = 0;
  let writer = "";
  let stale = 0;
  const visible = new Set(seen.map(({ id }) => id));
  for (const one of raw) {
    if (one.type === "leader_election" && mark(one.term ?? 0) === one.id && (one.term ?? 0) > term) {
      term = one.term ?? 0;
      writer = one.actor;
      if (!visible.has(one.id)) fail(`the election of term ${term} is not seen`);
    } else if (one.term !== undefined) {
      const counts = one.term === term && one.actor === writer && one.type !== "leader_election";
      if (!counts) stale++;
      if (visible.has(one.id) !== counts)
        fail(`a line of ${one.actor}, term ${one.term}, in term ${term} of ${writer}`);
    }
  }
  const led = seen.filter(({ type }) => type === "led").length;
  return { terms: term, "lines of leaders": led, "stale or forged, seen by nobody": stale, lines: raw.length };
}
