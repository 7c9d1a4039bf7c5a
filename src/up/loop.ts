/**
 * What has to be done again and again while agents run. `midwatch up` does a round each second; without it, every command does
 * what it meets. Each part may run twice at once, in two processes, and does its work once.
 */
import { existsSync } from "node:fs";
import { toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { iso } from "../core/time.ts";
import type { LimitFact, LimitName, Tokens } from "../core/types.ts";
import { createInside } from "../disk/write-inside.ts";
import { KnownFacts } from "../facts/known-facts.ts";
import { lastReports } from "../facts/last-reports.ts";
import type { Observed } from "../facts/observe.ts";
import { archiveAged } from "../files/archive.ts";
import { emptyAged } from "../files/prune.ts";
import { Retention } from "../files/retention.ts";
import { sealSome, withFolder } from "../files/seal-rest.ts";
import { placeId } from "../journal/event.ts";
import { closeIdle } from "../messages/inbox.ts";
import { type ProgressReport, TERMINAL } from "../messages/report.ts";
import { signalMain } from "../process/identity.ts";
import { startWaiting } from "../run/queue.ts";
import { reconcile } from "../run/reconcile.ts";
import { stop } from "../run/stop.ts";
import { type RunSpent, spent } from "../spend/spent.ts";
import { Streams } from "../stream/streams.ts";
import { Apart } from "../workspace/apart.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { BudgetRounds } from "./budget-rounds.ts";

/** An agent that says it is done gets this long without a sign of life before it is ended. */
const LINGER_MS = 30_000;

const TIDY_MS = 60_000;

const QUIET_ROUNDS = 5;

/** What one round did; `archived` counts runs, `trashed` agents or whole tasks, `deleted` things in the trash. */
export interface Round {
  started: number;
  stopped: AgentId[];
  archived: number;
  trashed: number;
  deleted: number;
  /** Why something could not be tidied up; the rest goes on, and it is tried again. */
  problem: string | null;
}

export class Loop {
  readonly #context: Context;
  readonly #lingerMs: number;
  readonly #streams: Streams;
  readonly #known = new KnownFacts();
  readonly #apart: Apart;
  readonly #told = new Set<string>();
  #tidyAt = 0;
  /** Runs of an older release that are to be sealed; looked for once. */
  #unsealed: RunName[] | undefined;
  readonly #retention: Retention;
  readonly #budgets: BudgetRounds;
  #looked = "";
  #still = 0;
  /** What the last round found, for others that need it in the same round. */
  observed: readonly Observed[] = [];

  constructor(context: Context, options: { lingerMs?: number; streams?: Streams } = {}) {
    this.#context = context;
    this.#lingerMs = options.lingerMs ?? LINGER_MS;
    this.#streams = options.streams ?? new Streams(context);
    this.#apart = new Apart(context);
    this.#retention = new Retention(context);
    this.#budgets = new BudgetRounds(context, this.#streams, this.#apart);
  }

  async round(): Promise<Round> {
    const observed = await reconcile(this.#context, { known: this.#known, streams: this.#streams, large: true });
    this.observed = observed;
    this.#compare(observed);
    const stopped: AgentId[] = [];
    const reported = withReader(this.#context, (registry) => registry.reporters());
    for (const one of observed.filter(({ row }) => row.phase === "running")) {
      await this.#apart.each(one, async () => {
        const why = (reported.has(one.agent) ? this.#lingers(one) : undefined) ?? (await this.#passed(one));
        if (why === undefined) return;
        await stop(this.#context, [one.agent], { ...why, streams: this.#streams });
        stopped.push(one.agent);
      });
    }
    stopped.push(...(await this.#budgets.round(observed)));
    await closeIdle(this.#context, observed, this.#streams, this.#apart);
    this.#streams.keep(observed);
    return { started: await startWaiting(this.#context, observed), stopped, ...(await this.#tidy()) };
  }

  /** For some rounds nothing has moved, and nobody is in the queue or has a limit of money: the next round has time. */
  get isQuiet(): boolean {
    return this.#still >= QUIET_ROUNDS;
  }

  #compare(observed: readonly Observed[]): void {
    const looks = observed.map(({ agent, run, row }) => `${agent}.${run} ${row.phase} ${row.bytes}`).join("\n");
    const urgent = observed.some(({ facts, row, left }) => left || row.queued || hasMoneyLimit(facts.intent));
    this.#still = looks === this.#looked && !urgent ? this.#still + 1 : 0;
    this.#looked = looks;
  }

  /** What has time: old logs, old trash. An agent that makes its folders unusable must not end the loop. */
  async #tidy(): Promise<Pick<Round, "archived" | "trashed" | "deleted" | "problem">> {
    const done = { archived: 0, trashed: 0, deleted: 0, problem: null as string | null };
    if (performance.now() < this.#tidyAt) return done;
    this.#tidyAt = performance.now() + TIDY_MS;
    try {
      done.archived = await archiveAged(this.#context);
      done.deleted = (await emptyAged(this.#context)).filter(({ action }) => action === "deleted").length;
      done.trashed = (await this.#retention.round()).length;
      this.#unsealed ??= withFolder(this.#context);
      await sealSome(this.#context, this.#unsealed);
      if (done.archived + this.#unsealed.length > 0) this.#tidyAt = 0; // There may be more.
    } catch (error) {
      done.problem = toMidwatchError(error).message;
    }
    return done;
  }

  /** It said that it is done, and since then neither printed nor reported anything. */
  #lingers({ task, agent, run, row, facts }: Observed): { reason: string } | undefined {
    // As long as it takes messages it may be told more.
    const { inputClosed } = this.#context.layout.run(task, agent, run);
    if (facts.intent?.interactive && !existsSync(inputClosed)) return undefined;
    const [last] = lastReports<ProgressReport>(this.#context.layout.agent(task, agent).progress, 1);
    if (last === undefined || !TERMINAL.includes(last.status)) return undefined;
    const sign = Math.max(Date.parse(last.timestamp), Date.parse(row.last_output_at ?? row.created_at));
    if (last.timestamp < row.created_at || Date.now() - sign < this.#lingerMs) return undefined;
    return { reason: `reported ${last.status}, then nothing for ${this.#lingerMs / 1000} s` };
  }

  /** Tokens and money, as far as the stream tells. */
  async #passed(one: Observed): Promise<Passed | undefined> {
    const { intent } = one.facts;
    if (!intent || !hasMoneyLimit(intent)) return undefined;
    const { result } = await this.#streams.read(one);
    const passed = limitPassed(intent.limits, total(result.tokens), spent(result, intent.model, this.#context.prices));
    if (passed === undefined || intent.limit_policy === "stop") return passed;
    this.#tell(one, passed, intent.limit_policy === "interrupt");
    return undefined;
  }

  /** Once, as its keeper does for the limits of time; the id is the same for whoever tells it. */
  #tell(one: Observed, { limit, reason }: Passed, interrupt: boolean): void {
    const { agent, task, run } = one;
    const key = `${agent}.${run}.${limit}`;
    if (this.#told.has(key)) return;
    if (interrupt) this.#interrupt(one, { v: 1, limit, reason, at: iso() });
    this.#told.add(key);
    const content = `${agent} passed its ${limit} limit: ${reason}`;
    audit(this.#context, [
      { type: "agent.limit", id: placeId("limit", key), content, agent, task, data: { run, limit } },
    ]);
  }

  /** The fact first: whoever finds the run ended knows why. One that is there was written by somebody who interrupted it too. */
  #interrupt({ agent, task, run, facts: { start } }: Observed, fact: LimitFact): void {
    const { root } = this.#context.layout;
    const path = this.#context.layout.run(task, agent, run).limit;
    if (createInside(root, path, `${JSON.stringify(fact)}\n`) && start?.main)
      signalMain({ ...start, main: start.main }, "SIGINT");
  }
}

interface Passed {
  reason: string;
  limit: LimitName;
}

function hasMoneyLimit(intent: IntentFact | undefined): boolean {
  return intent !== undefined && (intent.limits.tokens > 0 || intent.limits.cost_usd > 0);
}

function limitPassed(limits: IntentFact["limits"], tokens: number, { least, estimated }: RunSpent): Passed | undefined {
  if (limits.tokens > 0 && tokens > limits.tokens)
    return { limit: "tokens", reason: `${tokens} tokens, at most ${limits.tokens}` };
  if (limits.cost_usd > 0 && least > limits.cost_usd)
    return { limit: "cost", reason: `${estimated ? "~" : ""}${least.toFixed(2)} USD, at most ${limits.cost_usd}` };
  return undefined;
}

function total(tokens: Tokens | null): number {
  return tokens === null ? 0 : tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}
