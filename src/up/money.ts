/**
 * Limits of tokens and money, a few times a second: each run that has one is read on when its log has grown, and what passes a limit is
 * acted on at once. Neither waits for the rounds of the house, nor one run for another. A run that begins between two rounds is
 * found by its mark in `active/`; what a round finds is followed too, so that a mark that somebody removes helps nobody.
 */
import { lstatSync, readdirSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { isTaskId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import type { LimitFact } from "../core/needs-watch.ts";
import { iso } from "../core/time.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { createInside } from "../disk/write-inside.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { type Observed, phaseNow } from "../facts/observe.ts";
import { placeId } from "../journal/event.ts";
import { signalMain } from "../process/identity.ts";
import { stop } from "../run/stop.ts";
import { spent } from "../spend/spent.ts";
import type { StreamState } from "../stream/stream-state.ts";
import { keyOf, type StreamOf, type Streams } from "../stream/streams.ts";
import { Apart } from "../workspace/apart.ts";
import { audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { keptIntent } from "../workspace/kept-bounds.ts";
import { type Deed, type Done, hasMoneyLimit, nextDeed, type Passed, passedBy } from "./money-plan.ts";

const TICK_MS = 200;
/** Of one log in one look; the rest follows in the next. */
const LOG_BYTES = 4 << 20;
/** After a deed that failed. */
const AGAIN_MS = 1000;
/** A folder that changed just now may change again without its time telling. */
const SETTLED_MS = 100;

interface Followed extends StreamOf {
  done: Done;
  /** Met before the round that is to know of it. */
  metMs: number;
  busy: boolean;
  passed?: Passed | undefined;
  /** What its stream was when it was looked at last: others of this process read on in it too. */
  version?: number;
  restsMs: number;
}

export interface MoneyOptions {
  streams: Streams;
  /** Which runs are looked at: those with a limit of their own. */
  wants?: (intent: IntentFact) => boolean;
  /** What a look has read. */
  heard?: (one: StreamOf, state: StreamState) => void;
}

export class Money {
  readonly #context: Context;
  readonly #streams: Streams;
  readonly #wants: (intent: IntentFact) => boolean;
  readonly #heard: NonNullable<MoneyOptions["heard"]>;
  readonly #apart: Apart;
  readonly #followed = new Map<string, Followed>();
  /** Marks of runs that have not started yet, with the time of their folder. */
  readonly #waiting = new Map<string, { of: RunName; changedMs: number | undefined }>();
  readonly #passedOver = new Set<string>();
  readonly #looking = new Set<Promise<void>>();
  #activeMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped: AgentId[] = [];
  #failed: { error: unknown } | undefined;

  constructor(context: Context, { streams, wants = hasMoneyLimit, heard = () => undefined }: MoneyOptions) {
    this.#context = context;
    this.#streams = streams;
    this.#wants = wants;
    this.#heard = heard;
    this.#apart = new Apart(context);
  }

  /** Looks by itself from now on, while `may` says so. */
  start(may: () => boolean): void {
    this.#timer ??= setInterval(() => {
      if (may()) this.tick();
    }, TICK_MS);
  }

  /** What was begun is done to its end. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await Promise.all(this.#looking);
  }

  /** What a look at all has found that began at `lookedMs` (monotonic). Without a timer the limits are looked at now. */
  async round(observed: readonly Observed[], lookedMs: number): Promise<AgentId[]> {
    const failed = this.#failed;
    this.#failed = undefined;
    if (failed !== undefined) throw failed.error;
    this.#follow(observed, lookedMs);
    if (this.#timer === undefined) {
      this.tick();
      await Promise.all(this.#looking);
      if (this.#failed !== undefined) return await this.round([], lookedMs);
    }
    return this.#stopped.splice(0);
  }

  tick(): void {
    try {
      this.#meet();
    } catch (error) {
      this.#fail(error);
    }
    const nowMs = performance.now();
    for (const one of this.#followed.values()) {
      if (one.busy || one.restsMs > nowMs || !this.#isDue(one, nowMs)) continue;
      one.busy = true;
      const looking = this.#apart
        .each(one, () => this.#look(one))
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          one.busy = false;
          this.#looking.delete(looking);
        });
      this.#looking.add(looking);
    }
  }

  /** What concerns them all is for the next round to tell. */
  #fail(error: unknown): void {
    this.#failed ??= { error };
  }

  #isDue(one: Followed, nowMs: number): boolean {
    const { intent } = one.facts;
    if (one.passed && intent && nextDeed(intent, one.done, nowMs) !== undefined) return true;
    const state = this.#streams.known(one);
    return state === undefined || state.version !== one.version || state.hasNews();
  }

  async #look(one: Followed): Promise<void> {
    one.restsMs = performance.now() + AGAIN_MS; // Unless it ends well.
    const state = await this.#streams.of(one);
    await state.readOn(true, LOG_BYTES);
    one.version = state.version;
    this.#heard(one, state);
    one.passed = this.#passed(one, state) ?? one.passed;
    const { intent } = one.facts;
    const deed = one.passed && intent && nextDeed(intent, one.done, performance.now());
    if (one.passed && deed !== undefined) await this.#act(one, one.passed, deed);
    one.restsMs = 0;
  }

  #passed({ facts: { intent } }: Followed, { result }: StreamState): Passed | undefined {
    if (!intent) return undefined;
    const { least, estimated } = spent(result, intent.model, this.#context.prices);
    return passedBy(intent.limits, { tokens: result.tokens, usd: least, estimated });
  }

  async #act(one: Followed, passed: Passed, deed: Deed): Promise<void> {
    const { agent, task, run } = one;
    const facts = readFacts(this.#context.layout.run(task, agent, run));
    if (phaseNow(facts) !== "running") return;
    const known = facts.limit?.limit === passed.limit;
    if (deed === "stop") {
      if (!known) this.#tellIfPossible(one, passed);
      const { limit, reason } = passed;
      const graceMs = one.facts.intent?.grace_ms;
      const [report] = await stop(this.#context, [agent], { limit, reason, graceMs, streams: this.#streams });
      if (report?.verified) this.#stopped.push(agent);
      return;
    }
    // One that is there was written by somebody who does the same.
    const first = !known && this.#tell(one, passed, deed === "tell" ? "notify" : deed);
    one.done.told = true;
    if (deed === "tell") return;
    one.done.interruptedMs = performance.now();
    const { start } = facts;
    if (first && start?.main) signalMain({ ...start, main: start.main }, "SIGINT");
  }

  /** A full disk must not keep a run from being stopped, and what stop.json says is enough. */
  #tellIfPossible(one: RunName, passed: Passed): void {
    try {
      this.#tell(one, passed, "stop");
    } catch {}
  }

  /** The fact first: whoever finds the run ended knows why. The event's id is the same for whoever tells it. True for who is first. */
  #tell({ agent, task, run }: RunName, passed: Passed, action: NonNullable<LimitFact["action"]>): boolean {
    const { layout } = this.#context;
    const fact: LimitFact = { v: 1, ...passed, at: iso(), action };
    const first = createInside(layout.root, layout.run(task, agent, run).limit, `${JSON.stringify(fact)}\n`);
    const { limit, reason, value, spent: by } = passed;
    const content = `${agent} passed its ${limit} limit: ${reason}`;
    const id = placeId("limit", `${agent}.${run}.${limit}`);
    // Where nothing else is done about it, a person is to hear of it.
    const severity = action === "notify" ? { severity: "error" } : {};
    const data = { run, limit, value, spent: by, action, ...severity };
    audit(this.#context, [{ type: "agent.limit", id, content, agent, task, data }]);
    return first;
  }

  #follow(observed: readonly Observed[], lookedMs: number): void {
    const found = new Set<string>();
    for (const { task, agent, run, facts, row } of observed) {
      const intent = row.phase === "running" && facts.intent && keptIntent(this.#context, facts.intent);
      if (!intent || !this.#wants(intent)) continue;
      found.add(keyOf({ agent, run }));
      this.#add({ task, agent, run }, { ...facts, intent });
    }
    for (const [key, one] of this.#followed) {
      if (found.has(key) || one.busy || one.metMs >= lookedMs) continue;
      this.#followed.delete(key);
      this.#streams.release(one);
    }
  }

  #add({ task, agent, run }: RunName, facts: Facts): void {
    const key = keyOf({ agent, run });
    this.#waiting.delete(key);
    const known = this.#followed.get(key);
    if (known !== undefined) {
      known.facts = facts;
      return;
    }
    const busy = false;
    this.#followed.set(key, {
      task,
      agent,
      run,
      facts,
      done: { told: false },
      metMs: performance.now(),
      busy,
      restsMs: 0,
    });
    this.#streams.hold({ task, agent, run });
  }

  /** Runs that have begun since the last round. */
  #meet(): void {
    const { layout } = this.#context;
    const changedMs = lstatSync(layout.active, { throwIfNoEntry: false })?.mtimeMs;
    if (changedMs !== this.#activeMs) {
      const settled = changedMs === undefined || Date.now() - changedMs > SETTLED_MS;
      this.#activeMs = settled ? changedMs : undefined;
      this.#listActive();
    }
    for (const [key, waiting] of this.#waiting) {
      const { task, agent, run } = waiting.of;
      const paths = layout.run(task, agent, run);
      const folderMs = lstatSync(paths.dir, { throwIfNoEntry: false })?.mtimeMs;
      if (folderMs === waiting.changedMs) continue;
      if (folderMs !== undefined && Date.now() - folderMs > SETTLED_MS) waiting.changedMs = folderMs;
      const facts = readFacts(paths);
      if (facts.intent === undefined) continue;
      const intent = keptIntent(this.#context, facts.intent);
      if (!this.#wants(intent)) {
        this.#waiting.delete(key);
        this.#passedOver.add(key);
      } else if (phaseNow(facts) === "running") this.#add(waiting.of, { ...facts, intent });
    }
  }

  #listActive(): void {
    const { layout } = this.#context;
    let names: string[];
    try {
      names = readdirSync(layout.active);
    } catch (error) {
      throwIfExhausted(error);
      return;
    }
    const there = new Set<string>();
    for (const name of names) {
      const mark = parseActiveMark(name);
      if (mark === undefined) continue;
      const key = keyOf(mark);
      there.add(key);
      if (this.#followed.has(key) || this.#waiting.has(key) || this.#passedOver.has(key)) continue;
      const task = readText(layout.activeMark(mark.agent, mark.run))?.split("/")[0];
      if (isTaskId(task)) this.#waiting.set(key, { of: { ...mark, task }, changedMs: undefined });
    }
    for (const known of [this.#waiting, this.#passedOver])
      for (const key of known.keys()) if (!there.has(key)) known.delete(key);
  }
}
