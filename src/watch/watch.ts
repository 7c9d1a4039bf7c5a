/**
 * The watch: new lines of each live log, and of those that have just ended, become a verdict and a summary. Cursor and summary are stored
 * in one transaction; then files and journal hear of what has changed, and that they did is stored too. Whoever dies in between is
 * followed by one who tells it again under the same id. Trouble with one agent does not touch the others.
 */
import type { AgentId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import type { Driver, StreamResult } from "../drivers/index.ts";
import { readFacts } from "../facts/facts.ts";
import type { Observed } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import { hasLater } from "../facts/run-numbers.ts";
import { placeId } from "../journal/event.ts";
import type { Facts as JudgedFacts } from "../judge/judge.ts";
import type { Watching } from "../registry/watched.ts";
import { reconcile } from "../run/reconcile.ts";
import { type RunSpent, spent, sumOf } from "../spend/spent.ts";
import { RunLog } from "../stream/run-log.ts";
import { StderrReading } from "../stream/stderr-reading.ts";
import type { StreamListener, StreamPlace, StreamState } from "../stream/stream-state.ts";
import { type Beginning, keyOf, type StreamOf, Streams } from "../stream/streams.ts";
import { Turns } from "../stream/turns.ts";
import { audit } from "../workspace/audit.ts";
import { companionOf } from "../workspace/companion.ts";
import { type Context, catchUp, withReader } from "../workspace/context.ts";
import { type RunSpend, recordSpend } from "../workspace/record-spend.ts";
import { readOpinionState } from "./opinion/opinion-state.ts";
import type { Candidate, SecondOpinions } from "./opinion/second-opinions.ts";
import { withOpinion } from "./opinion/with-opinion.ts";
import { RunReading, STREAM } from "./run-reading.ts";
import { Silence } from "./silence.ts";
import { isNews, makeSummary, Places, type Subject } from "./summary.ts";
import { tellSummaries } from "./tell-summaries.ts";

/** Of one log in one round, and of all. The rest is read in the next, which comes at once. */
const LOG_BYTES = 4 << 20;
const ROUND_BYTES = 64 << 20;
/** What ended longer ago without anybody watching is read only when somebody asks for it. */
const JUST_ENDED_MS = 3_600_000;

interface Kept {
  subject: Subject;
  /** Its task and its prompt. */
  goal: string;
  reading: RunReading;
  driver: Driver;
  summary: AgentSummary | null;
  /** What it has used, for the ledger; undefined once the clean-up has told all of it. */
  spend: RunSpend | undefined;
  /** What the registry has. */
  stored: AgentSummary | null;
  storedOffset: number | undefined;
  /** Up to where the summary tells. */
  place: StreamPlace | undefined;
  places: Places;
  stderr: StderrReading;
  /** What it says, for the journal; when that was asked for. */
  turns: Turns | undefined;
}

export interface WatchOptions {
  /** Only these agents. */
  only?: ReadonlySet<AgentId> | undefined;
  /** What a reconcile has just found. */
  observed?: readonly Observed[] | undefined;
  /** Nobody looks again soon: look at silent processes twice now. */
  once?: boolean | undefined;
  /** The time by the wall clock that silence is measured to: what would be said then if nothing happened until then. */
  nowMs?: number | undefined;
}

export interface WatchRound {
  summaries: AgentSummary[];
  /** Those of which files and journal heard. */
  changed: AgentSummary[];
  lines: number;
  /** There is more to read at once. */
  more: boolean;
  /** Something about these could not be told yet. */
  again: AgentId[];
  /** Agents that could not be read. */
  failed: { agent: AgentId; run: number; error: string }[];
}

export class Watch {
  readonly #context: Context;
  readonly #kept = new Map<string, Kept>();
  readonly #silence: Silence;
  readonly #resting = new Map<string, number>();
  readonly #opinions: SecondOpinions | undefined;
  /** For others of this process too: each line is read once. */
  readonly streams: Streams;
  #first = 0;

  /** With `opinions`, a model is asked too. */
  constructor(context: Context, opinions?: SecondOpinions) {
    this.#context = context;
    this.#silence = new Silence(context.thresholds);
    this.#opinions = opinions;
    this.streams = new Streams(context, (of, driver) => this.#begin(of, driver));
  }

  async round(options: WatchOptions = {}): Promise<WatchRound> {
    const all = this.#candidates(options.observed ?? (await reconcile(this.#context)));
    const wanted = all.filter(({ agent }) => options.only === undefined || options.only.has(agent));
    const nowMs = options.nowMs ?? Date.now();
    const processes = await this.#silence.look(wanted, nowMs, options.once ?? false);
    const done: WatchRound = { summaries: [], changed: [], lines: 0, more: false, again: [], failed: [] };
    const news: Kept[] = [];
    let budget = ROUND_BYTES;
    for (const one of this.#inTurn(wanted)) {
      const key = keyOf(one);
      if ((this.#resting.get(key) ?? 0) > performance.now()) continue;
      try {
        const stream = await this.streams.of(one);
        const kept = this.#kept.get(key) as Kept;
        const { offset, line } = stream.place;
        const more = await stream.readOn(!isOver(one.row), Math.min(budget, LOG_BYTES));
        if (!more) kept.reading.hear(kept.stderr.read(this.#context, one, kept.driver));
        budget -= stream.place.offset - offset;
        done.lines += stream.place.line - line;
        done.more ||= more;
        if (kept.turns !== undefined && !(await kept.turns.tellNow())) done.again.push(one.agent);
        kept.summary = this.#summary(one, kept, stream, { more, nowMs, process: processes.get(key) ?? null });
        kept.place = stream.place;
        const placed = kept.summary.final || stream.place.offset === kept.storedOffset;
        if (!placed || isNews(kept.summary, kept.stored)) news.push(kept);
        done.summaries.push(kept.summary);
      } catch (error) {
        this.#resting.set(key, performance.now() + this.#context.config.watch_backoff);
        this.#kept.delete(key);
        this.streams.forget(one);
        done.failed.push({ agent: one.agent, run: one.run, error: String(error) });
      }
    }
    await this.#store(news, done);
    this.#opinions?.consider(wanted.flatMap((one) => this.#candidate(one)));
    if (options.only === undefined) this.#forget(all);
    return done;
  }

  /** What lives, and what ended and was not read to its end. */
  #candidates(observed: readonly Observed[]): Observed[] {
    const { layout } = this.#context;
    const left = new Set(observed.filter((one) => one.left).map(keyOf));
    const found = new Map(observed.filter((one) => !one.left).map((one) => [keyOf(one), one]));
    for (const { agent, run } of withReader(this.#context, (registry) =>
      registry.unwatched(iso(Date.now() - JUST_ENDED_MS)),
    )) {
      const name = { task: agent.task, agent: agent.id, run: run.run };
      if (found.has(keyOf(name)) || left.has(keyOf(name))) continue;
      const facts = readFacts(layout.run(agent.task, agent.id, run.run));
      if (facts.intent)
        found.set(keyOf(name), {
          ...name,
          facts,
          left: false,
          row: runRow(layout, name.task, name.agent, name.run, facts, !hasLater(this.#context, name)),
        });
    }
    const companion = companionOf(this.#context)?.agent;
    return [...found.values()].filter(({ agent, facts }) => facts.intent !== undefined && agent !== companion);
  }

  /** Each round begins with another one, so that a flood of one does not starve those behind it. */
  #inTurn(all: readonly Observed[]): Observed[] {
    const first = all.length === 0 ? 0 : this.#first++ % all.length;
    return [...all.slice(first), ...all.slice(0, first)];
  }

  #begin({ task, agent, run, facts }: StreamOf, driver: Driver): Beginning {
    const intent = facts.intent as NonNullable<typeof facts.intent>;
    const { cursor, summary, goal } = withReader(this.#context, (registry) => ({
      cursor: registry.watched.cursor(agent, STREAM, run),
      summary: (registry.watched.summary(agent, run)?.data ?? null) as AgentSummary | null,
      goal: registry.task(task)?.description ?? "",
    }));
    const assigned = [goal, intent.prompt ?? ""]
      .filter((text, i, both) => text !== "" && both.indexOf(text) === i)
      .join("\n");
    const { role, parent, name, model } = intent;
    const reading = new RunReading(assigned, this.#context.thresholds);
    const turns = intent.journal === "turns" ? new Turns(this.#context, { task, agent, run }) : undefined;
    this.#kept.set(keyOf({ agent, run }), {
      subject: { agent, name, task, run, role, parent, model, assigned: intent.prompt ?? goal },
      goal: assigned,
      reading,
      driver,
      summary,
      spend: undefined,
      stored: summary,
      storedOffset: cursor?.offset,
      place: undefined,
      places: new Places(),
      stderr: new StderrReading(),
      turns,
    });
    const place = cursor ?? (summary?.final ? { ...summary.position, generation: 1, updated_at: iso() } : undefined);
    const counted = {
      tokens: summary?.tokens ?? null,
      cost_usd: summary?.cost_estimated ? null : (summary?.cost_usd ?? null),
    };
    const listener: StreamListener = (activities, record, atMs) => {
      reading.take(activities, record, atMs);
      turns?.take(activities, record);
    };
    return { listener, from: place && { place, counted } };
  }

  #summary(
    one: Observed,
    kept: Kept,
    { place, result: told, bad }: StreamState,
    now: { more: boolean; nowMs: number; process: JudgedFacts["process"] },
  ): AgentSummary {
    const { row } = one;
    const facts: JudgedFacts = {
      nowMs: now.nowMs,
      phase: row.phase,
      outcome: row.outcome,
      why: row.reason,
      startedMs: timeOf(row.started_at),
      lastOutputMs: timeOf(row.last_output_at),
      queued: row.queued === 1,
      hold: row.hold,
      speaks: kept.driver.json,
      process: now.process,
    };
    const ended = one.facts.cleanup?.result;
    const result = ended ? { ...told, model: ended.model, tokens: ended.tokens, cost_usd: ended.cost_usd } : told;
    const cost = spent(result, kept.subject.model, this.#context.prices);
    kept.spend = spendOf(one, cost, result);
    const { llm_every: everyMs } = this.#context.config;
    using log = new RunLog(this.#context, { ...one, json: kept.driver.json });
    const places = kept.places.finder(() => log.open(!isOver(row)), place.offset);
    // Whoever looks tells it, also one that asks no model itself.
    const state = row.outcome === null ? readOpinionState(this.#context, one) : null;
    const summary = makeSummary({
      subject: kept.subject,
      facts,
      judgement: kept.reading.judge.verdict(facts, state?.ruling),
      recent: kept.reading.recent,
      result,
      cost: ended?.spent ? sumOf(ended.spent) : cost,
      place,
      bytes: places,
      badLines: bad.count,
      previous: kept.summary,
      final: !now.more && isOver(row),
    });
    return withOpinion(summary, state?.opinion ?? null, { everyMs, bytes: places });
  }

  /** A registry that cannot be had now hears of it in the next round: what is in memory is ahead of it and stays right. */
  async #store(news: readonly Kept[], done: WatchRound): Promise<void> {
    const rows = news.flatMap((kept) => (kept.summary && kept.place ? [watching(kept.place, kept.summary)] : []));
    if (!catchUp(this.#context, ({ watched }) => watched.commit(rows))) {
      done.more = true;
      return;
    }
    recordSpend(
      this.#context,
      news.flatMap(({ spend }) => spend ?? []),
    );
    for (const kept of news) {
      const { subject, stored, summary } = kept;
      if (!stored?.bad_lines && summary?.bad_lines)
        tellBadLines(this.#context, subject, this.streams.known(subject)?.bad);
      kept.stored = summary;
      kept.storedOffset = kept.place?.offset;
    }
    done.changed = await tellSummaries(
      this.#context,
      news.flatMap(({ summary }) => summary ?? []),
    );
  }

  #candidate({ task, agent, run, row }: Observed): Candidate[] {
    const kept = this.#kept.get(keyOf({ agent, run }));
    if (kept === undefined || kept.summary === null || row.outcome !== null) return [];
    const { summary, driver, goal } = kept;
    return [{ task, agent, run, summary, driver, goal, startedMs: timeOf(row.started_at) ?? Date.now() }];
  }

  #forget(all: readonly Observed[]): void {
    const keys = new Set(all.map(keyOf));
    this.#silence.keep(keys);
    this.streams.keep(all);
    for (const [key, { subject }] of this.#kept)
      if (this.streams.known({ agent: subject.agent, run: subject.run }) === undefined) this.#kept.delete(key);
    for (const key of this.#resting.keys()) if (!keys.has(key)) this.#resting.delete(key);
  }
}

/** Of a run whose end nobody has read yet. */
function spendOf(
  { task, agent, run, facts }: Observed,
  { parts }: RunSpent,
  { cost_usd: told_usd }: Pick<StreamResult, "cost_usd">,
): RunSpend | undefined {
  if (facts.done !== undefined) return undefined;
  return { task, agent, run, labels: facts.intent?.labels ?? [], parts, told_usd, final: false };
}

function watching(place: StreamPlace, summary: AgentSummary): Watching {
  const { instance_id: agent, run, id, on_track_status: verdict, final } = summary;
  const data = summary as unknown as Record<string, unknown>;
  const cursor = { agent, log: STREAM, run, ...place, file: null };
  return { cursor, summary: { agent, run, id, final: final ? 1 : 0, data }, verdict };
}

/** Once a run, when the first is met: the summary has how many they are. */
function tellBadLines(context: Context, { task, agent, run }: Subject, bad: StreamState["bad"] | undefined): void {
  const { line_number = null, error = "" } = bad?.first ?? {};
  const content = `Line ${line_number ?? "?"} of the log of ${agent} should be JSON and is not: ${error}`;
  const data = { run, line_number, error, severity: "warning" };
  audit(context, [{ type: "agent.bad_line", id: placeId("bad_line", `${agent}.${run}`), content, task, agent, data }]);
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
