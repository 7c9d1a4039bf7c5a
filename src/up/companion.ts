/**
 * The companion of a workspace (docs/companion.md). `startCompanion` is a short process: it starts the companion as the next run of one
 * hidden agent, under a keeper of its own, and ends. `keepWatch` is the companion: the rounds of `midwatch up` that runs need, until none
 * needs them any more. Its lock is the kernel's; whoever is killed is followed by whom the keepers of those runs start.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { toMidwatchError } from "../core/errors.ts";
import { newAgentId, newNonce, newTaskId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { isOver } from "../core/phase.ts";
import { iso, monoMs } from "../core/time.ts";
import { removeFile, removeTree } from "../disk/inside.ts";
import { takeLock } from "../disk/lock.ts";
import { knownTask, locate } from "../facts/locate.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { hasFact, runNumbers } from "../facts/run-numbers.ts";
import { lockRun } from "../files/cleanup.ts";
import { host } from "../process/identity.ts";
import { midwatchWords } from "../process/self.ts";
import { compose } from "../run/compose.ts";
import { launch } from "../run/launch.ts";
import { intentOf } from "../run/launch-plan.ts";
import { reconcile } from "../run/reconcile.ts";
import { setAside } from "../run/restart.ts";
import { putTask, taskFact } from "../run/start.ts";
import { stop } from "../run/stop.ts";
import { companionLocks, recordCompanion } from "../trust/companion-record.ts";
import { companionOf } from "../workspace/companion.ts";
import { type Context, catchUp, type RunName, withReader } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { type HouseRecord, keepHouse } from "./house.ts";
import { anyNeeds } from "./watch-place.ts";

const NAME = "companion";
/** Of V8: it reads a few lines a second for hours, and is not to take the memory that would make it read millions. */
const SMALL = ["--max-semi-space-size=1", "--v8-pool-size=0", "--no-opt", "--no-maglev"];
/** Its earlier runs beyond these are forgotten: it comes and goes for years. */
const RUNS_KEPT = 5;
/** Whoever is starting it may take so long on a busy machine. */
const COMES_MS = 10_000;
const LOOK_MS = 50;
/** It goes so long after the last run that needs it, and looks by itself when no round has told. */
const LINGER_MS = 1500;
const BLIND_MS = 5000;
/** A second companion waits so long for the first to be seen. */
const TAKE_MS = 2000;

/** One at a time; nothing when somebody watches, or nobody needs it. */
export async function startCompanion(context: Context): Promise<void> {
  const locks = companionLocks(context.trust.state, context.layout.root);
  using starting = await takeLock(locks.starting, 0);
  if (starting === undefined) return;
  const isWatched = async (): Promise<boolean> => {
    using lock = await takeLock(locks.watch, 0);
    return lock === undefined;
  };
  if (await isWatched()) return;
  const former = await ended(context, isWatched);
  if (former === "watches" || !anyNeeds(context, await reconcile(context))) return;
  const problem = await launchNext(context, former).catch((error: unknown) => {
    if (former === undefined) throw error;
    return toMidwatchError(error).message;
  });
  // What stands in the way of its next run must not leave the others without anybody: then it is another agent.
  if (problem !== undefined && former !== undefined) await launchNext(context, undefined);
  await until(async () => (await isWatched()) || isOverAgain(context));
}

/** It found that nobody needs it any more, or could not begin. */
function isOverAgain(context: Context): boolean {
  const agent = companionOf(context)?.agent;
  return agent === undefined || hasEnded(locate(context, agent).facts);
}

/** Until it holds, or for as long as a start may take. */
async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + COMES_MS; performance.now() < deadline; await sleep(LOOK_MS))
    if (await holds()) return true;
  return false;
}

/** The run before, once it is over; one that lives and does not watch is ended. None, or one that cannot be ended: undefined. */
async function ended(context: Context, isWatched: () => Promise<boolean>): Promise<RunName | "watches" | undefined> {
  const agent = companionOf(context)?.agent;
  if (!agent || withReader(context, (registry) => registry.get(agent)) === undefined) return undefined;
  const over = async (): Promise<RunName | undefined> => {
    const left = (await reconcile(context, { of: [agent] })).find((one) => one.agent === agent);
    const { listed, facts } = locate(context, agent);
    const isSettled = hasEnded(facts) && (left === undefined || isOver(left.row));
    return isSettled ? { task: listed.agent.task, agent, run: listed.run.run } : undefined;
  };
  let found: RunName | undefined;
  let watched = false;
  await until(async () => {
    found = await over();
    watched = found === undefined && (await isWatched());
    return found !== undefined || watched;
  });
  if (watched) return "watches";
  if (found !== undefined) return found;
  await stop(context, [agent], { graceMs: 0, reason: "it does not watch" });
  return await over();
}

/** Gives why it did not start. */
async function launchNext(context: Context, former: RunName | undefined): Promise<string | undefined> {
  const { layout, trust } = context;
  const now = Date.now();
  const task = former?.task ?? newTaskId(now);
  const agent = former?.agent ?? newAgentId(NAME, now);
  const asked = askedOf(context, { task, agent, run: next(context, former) }, now);
  const { trusts } = companionOf(context) ?? {};
  const record = { v: 1 as const, path: layout.root, agent, task, nonce: asked.nonce, at: asked.created_at };
  recordCompanion(trust.state, { ...record, ...(trusts === undefined ? {} : { trusts }) });
  if (former === undefined) putTask(context, taskFact(task, "Watches while no midwatch up runs", now));
  const composed = await compose(context, await findDriver(context, "command"), asked, knownTask(context, task));
  const plan = { ...composed, prepare: () => former && setAside(context, former) };
  const { problem } =
    former === undefined ? await launch(context, plan) : await lockRun(context, former, () => launch(context, plan));
  forgetEarlier(context, asked);
  return problem;
}

/** A number that was given up before it had an intent is not used again. */
function next({ layout }: Context, former: RunName | undefined): number {
  if (former === undefined) return 1;
  let run = former.run + 1;
  while (hasFact(layout.run(former.task, former.agent, run), "claim")) run++;
  return run;
}

/** It has no limits, which somebody else would have to watch, and is never held. */
function askedOf(context: Context, name: RunName, now: number): IntentFact {
  const { config, layout } = context;
  const [node, ...words] = midwatchWords(["companion", "watch", layout.root]);
  const argv = [node, ...SMALL, ...words];
  const begun = {
    v: 1 as const,
    ...name,
    nonce: newNonce(),
    ...host(),
    created_at: iso(now),
    created_mono_ms: monoMs(),
    driver: "command",
  };
  const place = {
    callerCwd: "/",
    cwd: "/",
    parent: undefined,
    above: [],
    tree: undefined,
    usualMost: config.max_running,
  };
  return {
    ...intentOf({ argv, role: NAME, mcp: false }, begun, place, config),
    limits: { output_bytes: 0, wall_ms: 0, idle_ms: 0, tokens: 0, cost_usd: 0 },
    disk: { floor_bytes: 0, policy: "hold" },
    sync: "none",
  };
}

function forgetEarlier(context: Context, { task, agent, run }: RunName): void {
  const { layout } = context;
  const old = runNumbers(context, { task, agent }).filter((number) => number <= run - RUNS_KEPT);
  for (const number of old) {
    const { dir, sealed, archivedLog, archivedStderr, archivedIndex } = layout.run(task, agent, number);
    for (const file of [archivedLog, archivedStderr, archivedIndex])
      for (const path of [file, `${file}.zst`]) removeFile(layout.root, path);
    removeTree(layout.root, dir);
    removeFile(layout.root, sealed);
  }
  if (old.length > 0) catchUp(context, (registry) => old.forEach((number) => void registry.deleteRun(agent, number)));
}

export interface CompanionOptions {
  signal: AbortSignal;
  tell(text: string): void;
}

/** Ends when no run of the workspace has needed it for a while, and when somebody else watches. */
export async function* keepWatch(context: Context, options: CompanionOptions): AsyncGenerator<HouseRecord> {
  const { watch } = companionLocks(context.trust.state, context.layout.root);
  do {
    using lock = await takeLock(watch, TAKE_MS);
    if (lock === undefined) return;
    yield* whileNeeded(context, options);
    // Whoever has queued a run since our last look found that somebody watched: so another, without the lock.
  } while (!options.signal.aborted && anyNeeds(context, await reconcile(context)));
}

async function* whileNeeded(context: Context, { signal, tell }: CompanionOptions): AsyncGenerator<HouseRecord> {
  const needed = new Needed(context, signal);
  try {
    yield* keepHouse(context, { signal: needed.signal, tell, companion: (observed) => needed.look(observed) });
  } finally {
    needed.close();
  }
}

/** Aborts when nobody has needed us for a while. */
class Needed {
  readonly signal: AbortSignal;
  readonly #context: Context;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** One that was called for a run that has ended meanwhile does not stay. */
  #last = Number.NEGATIVE_INFINITY;
  #looked = performance.now();

  constructor(context: Context, signal: AbortSignal) {
    this.#context = context;
    this.signal = AbortSignal.any([signal, this.#over.signal]);
    // Rounds stand still while somebody else leads.
    this.#timer = setInterval(() => void this.#lookSelf(), LINGER_MS);
  }

  look(observed: readonly Observed[]): void {
    const now = performance.now();
    this.#looked = now;
    if (anyNeeds(this.#context, observed)) this.#last = now;
    else if (now - this.#last >= LINGER_MS) this.#over.abort();
  }

  async #lookSelf(): Promise<void> {
    if (performance.now() - this.#looked < BLIND_MS) return;
    const observed = await reconcile(this.#context).catch(() => undefined);
    if (observed !== undefined) this.look(observed);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
