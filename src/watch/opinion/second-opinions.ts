/**
 * Asks a model about agents, beside the rounds of the watch and never in their way: on a change of the verdict and now and then, only when
 * there are new lines, only these, without secrets. What it answers is kept in a file, from which the next round takes it. Whatever goes
 * wrong, the rules' summary is there; the lines of a call that failed are part of the next one.
 */

import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { MidwatchError } from "../../core/errors.ts";
import type { AgentSummary, Answer } from "../../core/summary.ts";
import { iso } from "../../core/time.ts";
import type { Driver } from "../../drivers/index.ts";
import type { Ruling } from "../../judge/judge.ts";
import { RULES, type RuleName } from "../../judge/rules.ts";
import { lineStartFrom } from "../../log/lines.ts";
import { Maskers } from "../../stream/maskers.ts";
import { RunLog } from "../../stream/run-log.ts";
import type { Context, RunName } from "../../workspace/context.ts";
import { reserve, settle, tokensLeft } from "./budget.ts";
import { openCli } from "./cli-reader.ts";
import { Digest, type DigestLine } from "./digest.ts";
import { CallFailed, type Model, OUTPUT_TOKENS, openModel, type Reply, type Turn } from "./model.ts";
import {
  changeOpinionState,
  claimed,
  isDue,
  isNewFinding,
  type OpinionState,
  readOpinionState,
  type Times,
} from "./opinion-state.ts";
import { type Prompt, repairPrompt, SYSTEM, taskText, userPrompt } from "./prompt.ts";

const AT_ONCE = 2;
/** Of new lines: what is older is not told any more. */
const READ_BYTES = 256 << 10;
const DIGEST_BYTES = 8 << 10;
/** Fewer say nothing. */
const DIGEST_LEAST = 300;
const REPAIRED_CHARS = 4000;
const BACKOFF_MS = 1000;
const BACKOFF_MOST_MS = 300_000;
/** After an error that does not get better by itself. */
const LASTING_MS = 600_000;
const CLAIM_SLACK_MS = 30_000;

export interface Candidate extends RunName {
  summary: AgentSummary;
  driver: Driver;
  /** What it should do, in full. */
  goal: string;
  startedMs: number;
}

interface Question {
  prompt: Prompt;
  lines: DigestLine[];
  /** Where the model has read the log after this. */
  read: { offset: number; line: number };
  from: number;
  /** The line of the finding that it is asked about. */
  finding: number | null;
}

/** An answer, and what it says of the finding. */
type Said = { answer: Answer; says: Ruling["says"] | null };

export class SecondOpinions implements Disposable {
  readonly #context: Context;
  readonly #tell: (text: string) => void;
  readonly #onAnswer: (candidate: Candidate) => void;
  readonly #closed = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  #waiting: { one: Candidate; last: string }[] = [];
  #opened = false;
  #model: Model | undefined;
  #pausedUntil = 0;
  #failures = 0;

  /** Undefined when none is configured. What is missing is told, and the watch goes on without. */
  static open(
    context: Context,
    tell: (text: string) => void,
    onAnswer: (candidate: Candidate) => void,
  ): SecondOpinions | undefined {
    const { opinion, llm_provider: provider } = context.config;
    return opinion === "off" && provider === "off" ? undefined : new SecondOpinions(context, tell, onAnswer);
  }

  private constructor(context: Context, tell: (text: string) => void, onAnswer: (candidate: Candidate) => void) {
    this.#context = context;
    this.#tell = tell;
    this.#onAnswer = onAnswer;
  }

  /** At the first round: who stands by for another needs no packages. */
  async #open(candidates: readonly Candidate[]): Promise<void> {
    const { config, env, layout } = this.#context;
    try {
      this.#model =
        config.opinion === "off" ? await openModel(config, env, dirname(layout.root)) : openCli(config, env);
      this.consider(candidates);
    } catch (error) {
      const known = error instanceof MidwatchError ? `${error.message} ${error.hint ?? ""}` : String(error);
      this.#tell(`${known.trim()} The watch goes on without a second opinion.`);
    }
  }

  /** Those of which the model should hear now; returns at once. */
  consider(candidates: readonly Candidate[]): void {
    if (!this.#opened) {
      this.#opened = true;
      void this.#open(candidates);
    }
    if (this.#model === undefined || this.#resting()) return;
    const seen = new Set(candidates.map(({ agent }) => agent));
    const due = candidates.flatMap((one) => {
      const state = readOpinionState(this.#context, one);
      return isDue(state, one.summary, this.#times(one)) ? [{ one, last: state.asked_at ?? "" }] : [];
    });
    // A round may be about some of the agents: the others wait on.
    const others = this.#waiting.filter(({ one }) => !seen.has(one.agent));
    this.#waiting = [...due, ...others].sort((a, b) => (a.last < b.last ? -1 : 1));
    this.#next(this.#model);
  }

  #next(model: Model): void {
    while (this.#running.size < AT_ONCE && !this.#resting()) {
      const one = this.#waiting.shift()?.one;
      if (one === undefined) return;
      if (this.#running.has(one.agent)) continue;
      const asked = this.#ask(model, one)
        .catch((error: unknown) => this.#failed(error))
        .finally(() => {
          this.#running.delete(one.agent);
          this.#next(model);
        });
      this.#running.set(one.agent, asked);
    }
  }

  #resting(): boolean {
    return this.#closed.signal.aborted || performance.now() < this.#pausedUntil;
  }

  #times({ startedMs }: Candidate): Times {
    const { opinion, opinion_per_day: perDay, llm_every, llm_timeout: timeoutMs } = this.#context.config;
    // A CLI of the user's own account is asked about findings alone.
    const everyMs = opinion === "off" ? llm_every : null;
    // A claim holds for a call and its repair; then its caller is taken for dead.
    const claimMs = 2 * timeoutMs + CLAIM_SLACK_MS;
    return { nowMs: Date.now(), startedMs, everyMs, claimMs, perDay: opinion === "off" ? Infinity : perDay };
  }

  async #ask(model: Model, one: Candidate): Promise<void> {
    const id = randomUUID();
    const question = await this.#question(model, one, id);
    if (question === null) return;
    let said: Said | null = null;
    try {
      said = await this.#answer(model, one, id, question);
    } catch (error) {
      await this.#change(one, (state) => (state.claim?.id === id ? { ...state, claim: null } : state));
      throw error;
    }
    const { summary, run } = one;
    const at = iso();
    // Without a usable answer the lines stay new, and are given again when the time has come.
    const kept = await this.#change(one, (state) => {
      if (state.run !== run) return null;
      const { from: line_start, read, finding } = question;
      const asked = { ...state, claim: null, asked_at: at, about: summary.id, finding: finding ?? state.finding };
      if (said === null) return asked;
      const { answer, says } = said;
      if (finding !== null) asked.ruling = says === null ? null : { line: finding, says };
      const opinion = { ...answer, source: "llm" as const, model: model.name, at, run, about: summary.id };
      return { ...asked, ...read, opinion: { ...opinion, line_start, line_end: read.line } };
    });
    if (said === null) throw new CallFailed("the answer could not be used, also when asked for again");
    this.#failures = 0;
    if (kept) this.#onAnswer(one);
  }

  /** Claims the agent, reserves what the call may cost, and makes the prompt as long as the budget allows. */
  async #question(model: Model, one: Candidate, id: string): Promise<Question | null> {
    let question: Question | null = null;
    await this.#change(one, (state) => {
      const times = this.#times(one);
      if (!isDue(state, one.summary, times)) return null;
      const made = this.#compose(model, one, state, times.nowMs);
      if (made === null) return null;
      // Lines that tell nothing (counts, notes) are nothing to ask about.
      if (made.lines.length === 0) return { ...state, ...made.read };
      const most = this.#context.config.llm_tokens_per_hour;
      const spent = reserve(state.spent, { id, atMs: times.nowMs, tokens: worst(model, made.prompt, null) }, most);
      if (spent === null) return null;
      question = made;
      const finding = (model.once ? made.finding : null) ?? state.finding;
      return { ...claimed(state, id, times.nowMs), spent, finding };
    });
    return question;
  }

  #compose(model: Model, one: Candidate, state: OpinionState, nowMs: number): Question | null {
    const { summary, agent, run, goal } = one;
    const hide = new Maskers(this.#context).of(agent, run);
    const mask = { text: (text: string): string => model.hide(hide.text(text)), value: hide.value };
    const before = state.opinion?.activity ?? null;
    const asks = isNewFinding(state, summary) ? (summary.finding ?? null) : null;
    const finding = asks === null ? null : summary.drift_reasons.find((reason) => reason.startsWith(`${asks.rule}:`));
    const about =
      asks === null ? null : `${finding ?? asks.rule} (${RULES[asks.rule as RuleName].about}), since line ${asks.line}`;
    const promptOf = (lines: readonly DigestLine[]): Prompt => ({
      system: SYSTEM,
      user: mask.text(userPrompt(summary, mask.text(goal), lines, before, about)),
    });
    const left = tokensLeft(state.spent, this.#context.config.llm_tokens_per_hour, nowMs);
    const room = Math.min(DIGEST_BYTES, left - worst(model, promptOf([]), null));
    if (room < DIGEST_LEAST) return null;
    const { digest, from, read } = digestOf(this.#context, one, state);
    const lines = digest.lines(mask, room);
    return { prompt: promptOf(lines), lines, read, from, finding: asks?.line ?? null };
  }

  /** Null when the answer cannot be used, also after one try to have it mended. */
  async #answer(model: Model, one: Candidate, id: string, { prompt, lines }: Question): Promise<Said | null> {
    const { readAnswer } = await import("./answer.ts");
    const task = taskText(one.goal);
    const first = await this.#call(model, one, id, prompt, null);
    const read = readAnswer(model.hide(first.text), lines, task);
    if ("answer" in read) return read;
    if (model.once) return null;
    const turn = { answer: first.text.slice(0, REPAIRED_CHARS), say: repairPrompt(read.problem) };
    const again = randomUUID();
    const { llm_tokens_per_hour: most } = this.#context.config;
    const afforded = await this.#change(one, (state) => {
      const spent = reserve(state.spent, { id: again, atMs: Date.now(), tokens: worst(model, prompt, turn) }, most);
      return spent && { ...state, spent };
    });
    if (!afforded) return null;
    const second = readAnswer(model.hide((await this.#call(model, one, again, prompt, turn)).text), lines, task);
    return "answer" in second ? second : null;
  }

  /** One call, and the reservation settled by what it cost. */
  async #call(model: Model, one: Candidate, id: string, prompt: Prompt, turn: Turn | null): Promise<Reply> {
    try {
      const reply = await model.ask(prompt, turn, this.#closed.signal);
      const { input = 0, output = 0 } = reply.tokens ?? {};
      await this.#change(one, ({ used, ...state }) => ({
        ...state,
        spent: settle(state.spent, id, reply.tokens && input + output),
        used: { calls: used.calls + 1, input: used.input + input, output: used.output + output, model: model.name },
      }));
      return reply;
    } catch (error) {
      if (error instanceof CallFailed && error.free)
        await this.#change(one, (state) => ({ ...state, spent: settle(state.spent, id, 0) }));
      throw error;
    }
  }

  #change(one: Candidate, change: (state: OpinionState) => OpinionState | null): Promise<boolean> {
    return changeOpinionState(this.#context, one, change);
  }

  /** All wait: a limit, a wrong key or an outage is everybody's. */
  #failed(error: unknown): void {
    if (this.#closed.signal.aborted) return;
    const { retryAfterMs = null, lasting = false } = error instanceof CallFailed ? error : {};
    const backoff = lasting ? LASTING_MS : Math.min(BACKOFF_MS * 2 ** this.#failures, BACKOFF_MOST_MS);
    const pause = retryAfterMs === null ? backoff * (0.75 + Math.random() / 2) : Math.max(retryAfterMs, BACKOFF_MS);
    this.#pausedUntil = performance.now() + pause;
    this.#failures++;
    if (this.#failures > 1 && !lasting) return;
    const what = error instanceof Error ? error.message : String(error);
    this.#tell(`No second opinion: ${what}. The watch goes on by its rules; next try in ${Math.ceil(pause / 1000)} s.`);
  }

  /** Calls under way are given up; what they reserved stays spent. */
  [Symbol.dispose](): void {
    this.#closed.abort();
    this.#waiting = [];
  }
}

/** Tokens that a call can cost at the most: no token is shorter than a byte. */
function worst({ overhead }: Model, { system, user }: Prompt, turn: Turn | null): number {
  const texts = [system, user, turn?.answer ?? "", turn?.say ?? ""];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), overhead + OUTPUT_TOKENS);
}

/** The lines that are new to the model, up to where the watch has read. They are masked when they are whole texts, before any is cut. */
function digestOf(
  context: Context,
  { task, agent, run, driver, summary }: Candidate,
  after: { offset: number; line: number },
): { digest: Digest; from: number; read: { offset: number; line: number } } {
  const digest = new Digest(driver.json);
  const { offset, line } = summary.position;
  using opened = new RunLog(context, { task, agent, run, json: driver.json });
  const log = opened.open(true);
  let from = after.line + 1;
  if (log !== undefined) {
    const end = Math.min(offset, log.source.size());
    const cut = end - after.offset > READ_BYTES ? lineStartFrom(log.source, end - READ_BYTES, end) : after.offset;
    const start = { offset: cut, line: cut === after.offset ? after.line : log.lineAt(cut) };
    from = (start.line ?? after.line) + 1;
    const reader = driver.reader();
    for (const { record, raw } of log.records(start, end)) {
      if (record === undefined || record.type === "lifecycle") continue;
      const read = driver.json && record.data !== undefined ? record.data : raw.bytes.toString();
      for (const activity of reader.read(read)) digest.add(activity, record.seq ?? line);
    }
  }
  return { digest, from, read: { offset, line } };
}
