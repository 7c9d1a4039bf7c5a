/**
 * What has to be done again and again while agents run. `midwatch up` does a round each second; without it, every command does
 * what it meets. Each part may run twice at once, in two processes, and does its work once.
 */
import { toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { IntentFact, LimitName, Tokens } from "../core/types.ts";
import type { StreamReader } from "../drivers/driver.ts";
import { Log } from "../log/log.ts";
import { archiveAged } from "./archive.ts";
import { type Context, withReader } from "./context.ts";
import { findDriver } from "./find-driver.ts";
import { lastReports } from "./last-reports.ts";
import { emptyAged } from "./prune.ts";
import { startWaiting } from "./queue.ts";
import { type Observed, reconcile } from "./reconcile.ts";
import { type ProgressReport, TERMINAL } from "./report.ts";
import { stop } from "./stop.ts";

/** An agent that says it is done gets this long without a sign of life before it is ended. */
const LINGER_MS = 30_000;

const TIDY_MS = 60_000;

/** What one round did; `archived` counts runs, `deleted` things in the trash. */
export interface Round {
  started: number;
  stopped: AgentId[];
  archived: number;
  deleted: number;
  /** Why something could not be tidied up; the rest goes on, and it is tried again. */
  problem: string | null;
}

/** What a stream told so far, and how far it was read. */
interface Reading {
  reader: StreamReader;
  offset: number;
}

export class Loop {
  readonly #context: Context;
  #tidyAt = 0;
  readonly #readings = new Map<string, Reading>();

  constructor(context: Context) {
    this.#context = context;
  }

  async round(): Promise<Round> {
    const observed = await reconcile(this.#context);
    const stopped: AgentId[] = [];
    for (const one of observed.filter(({ row }) => row.phase === "running")) {
      const why = this.#lingers(one) ?? (await this.#passed(one));
      if (why === undefined) continue;
      await stop(this.#context, [one.agent], why);
      stopped.push(one.agent);
    }
    for (const key of this.#readings.keys())
      if (!observed.some(({ agent, run }) => `${agent}.${run}` === key)) this.#readings.delete(key);
    return { started: await startWaiting(this.#context, observed), stopped, ...(await this.#tidy()) };
  }

  /** What has time: old logs, old trash. An agent that makes its folders unusable must not end the loop. */
  async #tidy(): Promise<Pick<Round, "archived" | "deleted" | "problem">> {
    const done = { archived: 0, deleted: 0, problem: null as string | null };
    if (performance.now() < this.#tidyAt) return done;
    this.#tidyAt = performance.now() + TIDY_MS;
    try {
      done.archived = await archiveAged(this.#context);
      done.deleted = (await emptyAged(this.#context)).filter(({ action }) => action === "deleted").length;
      if (done.archived > 0) this.#tidyAt = 0; // There may be more.
    } catch (error) {
      done.problem = toMidwatchError(error).message;
    }
    return done;
  }

  /** It said that it is done, and since then neither printed nor reported anything. */
  #lingers({ task, agent, row }: Observed): { reason: string } | undefined {
    const reported = withReader(this.#context, (registry) => registry.reports(task)).some((one) => one.agent === agent);
    if (!reported) return undefined;
    const [last] = lastReports<ProgressReport>(this.#context.layout.agent(task, agent).progress, 1);
    if (last === undefined || !TERMINAL.includes(last.status)) return undefined;
    const sign = Math.max(Date.parse(last.timestamp), Date.parse(row.last_output_at ?? row.created_at));
    if (last.timestamp < row.created_at || Date.now() - sign < LINGER_MS) return undefined;
    return { reason: `reported ${last.status}, then nothing for ${LINGER_MS / 1000} s` };
  }

  /** Tokens and money, as far as the stream tells. */
  async #passed(one: Observed): Promise<{ reason: string; limit: LimitName } | undefined> {
    const { intent } = one.facts;
    if (intent?.limit_policy !== "stop" || (intent.limits.tokens === 0 && intent.limits.cost_usd === 0))
      return undefined;
    const { tokens, cost } = await this.#read(one, intent);
    const { limits } = intent;
    if (limits.tokens > 0 && tokens > limits.tokens)
      return { limit: "tokens", reason: `${tokens} tokens, at most ${limits.tokens}` };
    if (limits.cost_usd > 0 && cost > limits.cost_usd)
      return { limit: "cost", reason: `${cost.toFixed(2)} USD, at most ${limits.cost_usd}` };
    return undefined;
  }

  async #read({ agent, run, row }: Observed, intent: IntentFact): Promise<{ tokens: number; cost: number }> {
    const key = `${agent}.${run}`;
    const driver = await findDriver(this.#context, intent.driver);
    const reading = this.#readings.get(key) ?? { reader: driver.reader(), offset: 0 };
    this.#readings.set(key, reading);
    const log = driver.json ? Log.open(row.log, undefined, { type: "stdout", json: true }) : undefined;
    if (log !== undefined) {
      try {
        const end = log.end(true);
        for (const { record } of log.records({ offset: reading.offset, line: null }, end))
          if (record !== undefined) reading.reader.read(record.data ?? record.text ?? "");
        reading.offset = Math.max(end, reading.offset);
      } finally {
        log.close();
      }
    }
    const { tokens, cost_usd } = reading.reader.result();
    return { tokens: total(tokens), cost: cost_usd ?? 0 };
  }
}

function total(tokens: Tokens | null): number {
  return tokens === null ? 0 : tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}
