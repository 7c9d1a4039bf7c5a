/**
 * What an agent is doing, told from its activities, its task and the facts of its run: a verdict with the rules behind it and the lines
 * that anybody can open. Deterministic, incremental and bounded in memory however long a run goes on. It never ends anything;
 * where it does not know it says `unknown`, because a false alarm costs more than a late one.
 */

import { maskText } from "../core/mask/mask.ts";
import { isAtWork } from "../core/phase.ts";
import type { Level } from "../core/summary.ts";
import { oneLine } from "../core/text/one-line.ts";
import type { Verdict } from "../core/types.ts";
import type { Activity, Trouble, TroubleActivity } from "../drivers/index.ts";
import { type Facts, fromOutside, fromSilence, type Waiting } from "./facts.ts";
import { Flood } from "./flood.ts";
import { confidence, RULE_NAMES, RULES, type Rule, type RuleName, type Thresholds } from "./rules.ts";
import { Said } from "./said.ts";
import { type LineRange, Steps } from "./steps.ts";
import { isNews, type Measure, Stuck } from "./stuck.ts";
import { Words } from "./words.ts";

export type { Facts } from "./facts.ts";

export interface Reason {
  rule: RuleName;
  level: Exclude<Level, "none">;
  value: number;
  threshold: number;
  /** `seq` is null for what no line tells. */
  evidence: { seq: LineRange | null; quote: string };
  /** The rule's own level, where a model has moved it. */
  own?: Exclude<Level, "none">;
}

/** What a model says of the finding since this line. It may move it between the levels; it can neither hide it nor touch a fact. */
export interface Ruling {
  line: number;
  says: "trouble" | "no_trouble";
}

export interface Judgement {
  verdict: Verdict;
  level: Level;
  /** How often the deciding rule was right on labelled runs; 0 for `unknown`. */
  confidence: number;
  /** How many runs that was measured on; 0: it is assumed. */
  cases: number;
  /** Whose word the verdict is: the run's own, a rule's that reads behaviour, or that of a model that was asked about the rule's finding. */
  source: "fact" | "rule" | "rule+model";
  /** What behaviour shows, and the line since which it does: one trouble, however its figures rise. */
  finding: { rule: RuleName; line: number } | null;
  /** What stands in the way of a blocked agent: a trouble, or the rule that says so. */
  cause: Trouble | RuleName | null;
  resets_at: string | null;
  /** The deciding one first. */
  reasons: Reason[];
}

export interface Moment {
  activity: Activity;
  /** When it was written, when that is known. */
  atMs: number | null;
  /** The line of the log. */
  seq: number;
}

const QUOTE_CHARS = 160;
const INTENT_CHARS = 3000;
/** So few steps tell nothing yet. */
const FEW_STEPS = 3;
/** Good steps in a row that clear what an agent was stuck in. */
const CLEARS = 6;
/** The share of modern runs that no rule flags and that solved their task; assumed where a task is too short to compare with. */
const ON_TRACK = { rich: 0.74, poor: 0.5 };
/** A trouble with its model that is over within this time is told to nobody. */
const HEALS_MS = 60_000;
/** What floods a log and then is silent for so long does not flood it any more. */
const FLOOD_OVER_MS = 10_000;
/** What good steps say nothing about. */
const LOOKS: readonly RuleName[] = ["off_task", "flood"];
/** What a trouble is behind when both are there. */
const CAUSED: readonly RuleName[] = ["trouble", "failed", "model_silent"];
/** Troubles that no retry mends. */
const LASTING: readonly Trouble[] = ["quota", "auth"];

export class Judge {
  readonly #thresholds: Thresholds;
  readonly #steps = new Steps();
  #stuck = new Stuck();
  readonly #said = new Said();
  readonly #flood = new Flood();
  readonly #words: Words;
  /** What stands until news clears it. */
  readonly #standing = new Map<RuleName, Measure>();
  #trouble: { activity: TroubleActivity; count: number; sinceMs: number | null; seq: LineRange | null } | null = null;
  #waiting: Waiting = "start";
  #lastMs: number | null = null;
  #lastSeq = 0;
  /** What it said since its last call: the words of the next step. */
  #intent = "";
  #apartFrom = 0;
  #count = 0;
  #good = 0;
  #denied = 0;
  #succeeded = 0;
  #agent = false;
  /** The line at which behaviour began to be worth a look, while it is. */
  #since: number | null = null;

  constructor(task: string, thresholds: Thresholds = {}) {
    this.#words = new Words(task);
    this.#thresholds = thresholds;
  }

  add(activity: Activity, atMs: number | null, seq: number): void {
    if (seq !== this.#lastSeq) this.#countLine(atMs, seq);
    this.#lastSeq = seq;
    if (atMs !== null) this.#lastMs = Math.max(this.#lastMs ?? 0, atMs);
    if (this.#waiting === "start") this.#waiting = "model";
    switch (activity.kind) {
      case "started":
        this.#agent = true;
        this.#waiting = "model";
        break;
      case "said":
      case "thought":
        this.#speak(activity, seq);
        break;
      case "tool":
        this.#call(activity, seq);
        break;
      case "tool_result":
        this.#answer(activity, seq);
        break;
      case "permission":
        this.#permission(activity, seq);
        break;
      case "trouble":
        this.#meet(activity, seq);
        break;
      case "finished":
        this.#finish(activity, seq);
        break;
      case "note":
        if (activity.name === "message_received") this.#asked(activity.text ?? "");
        break;
      case "usage":
      case "unparsed":
        break;
    }
    this.#follow(seq);
  }

  #follow(seq: number): void {
    const found = [...this.#standing.keys()].some((rule) => !RULES[rule].fact);
    this.#since = found ? (this.#since ?? seq) : null;
  }

  /** A person wants something else, or more: what it tried before was for what was asked before. */
  #asked(text: string): void {
    this.#words.learn(text);
    this.#stuck = new Stuck();
    this.#steps.forget();
    this.#standing.clear();
    this.#good = 0;
  }

  /** Trouble that no line of the stream tells. */
  hear(trouble: TroubleActivity): void {
    const before = this.#trouble;
    const sinceMs = before?.sinceMs ?? this.#lastMs;
    this.#trouble = { activity: trouble, count: (before?.count ?? 0) + 1, sinceMs, seq: before?.seq ?? null };
  }

  verdict(facts: Facts, ruling: Ruling | null = null): Judgement {
    const live = isAtWork(facts);
    const told = [
      ...fromOutside(facts).flatMap((measure) => this.#reason({ ...measure, seq: null })),
      ...this.#fromTrouble(facts),
      ...fromSilence(facts, this.#waiting, this.#lastMs).flatMap(({ certain, ...measure }) =>
        this.#reason({ ...measure, seq: place(this.#lastSeq) }, certain),
      ),
      ...[...this.#standing.values()]
        .filter(({ rule }) => (live ? rule !== "flood" || this.#prints(facts) : rule === "unproven"))
        .flatMap((measure) => this.#reason(measure)),
    ].sort((a, b) => rank(a) - rank(b));
    const finding = told.find(({ rule }) => !RULES[rule].fact);
    const line = this.#since;
    const reasons = ruling !== null && ruling.line === line ? moved(told, ruling) : told;
    const judged = this.#judge(reasons, facts);
    const asked = reasons !== told && judged.source === "rule";
    return {
      ...judged,
      source: asked ? "rule+model" : judged.source,
      finding: finding === undefined || line === null ? null : { rule: finding.rule, line },
    };
  }

  #judge(reasons: Reason[], facts: Facts): Omit<Judgement, "finding"> {
    const [first] = reasons;
    const trouble = this.#trouble?.activity ?? null;
    if (first === undefined) {
      const known = facts.outcome === "completed" || (isAtWork(facts) && this.#count >= FEW_STEPS);
      const share = known ? (this.#words.rich ? ON_TRACK.rich : ON_TRACK.poor) : 0;
      const none = { level: "none", cases: 0, cause: null, resets_at: null, reasons } as const;
      return { ...none, verdict: known ? "on_track" : "unknown", confidence: share, source: "rule", reasons };
    }
    const rule = RULES[first.rule];
    const told = first.level === "alert" ? rule.verdict : rule.watched;
    const verdict = told === "on_track" && this.#count < FEW_STEPS ? "unknown" : told;
    const blocked = verdict === "blocked";
    return {
      verdict,
      level: first.level,
      confidence: confidenceOf(verdict, first),
      cases: verdict === told ? rule.precision[first.own ?? first.level].of : 0,
      source: rule.fact ? "fact" : "rule",
      cause: blocked ? (trouble !== null && CAUSED.includes(first.rule) ? trouble.trouble : first.rule) : null,
      resets_at: blocked ? (trouble?.resets_at ?? null) : null,
      reasons,
    };
  }

  #prints({ nowMs, lastOutputMs }: Facts): boolean {
    return nowMs - Math.max(this.#lastMs ?? 0, lastOutputMs ?? 0) < FLOOD_OVER_MS;
  }

  #threshold(rule: RuleName): Pick<Rule, "watch" | "alert"> {
    const { watch, alert } = RULES[rule];
    // Of an agent that has done little nothing is known anyway: its silence is told early, as what is known.
    const early = rule === "model_silent" && this.#count < FEW_STEPS;
    return { watch: early ? Math.min(watch, RULES.no_first_output.watch) : watch, alert, ...this.#thresholds[rule] };
  }

  #reason(measure: Omit<Measure, "seq"> & { seq: LineRange | null }, certain = true): Reason[] {
    const { rule, value, seq, quote } = measure;
    const { watch, alert } = this.#threshold(rule);
    const level = value >= alert && certain ? "alert" : value >= watch ? "watch" : null;
    if (level === null) return [];
    return [
      { rule, level, value, threshold: level === "alert" ? alert : watch, evidence: { seq, quote: quoted(quote) } },
    ];
  }

  #fromTrouble({ nowMs }: Facts): Reason[] {
    if (this.#trouble === null) return [];
    const { activity, count, sinceMs, seq } = this.#trouble;
    const lasting = activity.fatal || LASTING.includes(activity.trouble);
    const value = lasting ? Math.max(count, this.#threshold("trouble").alert) : count;
    // Most bursts are over before anybody could look.
    const certain = lasting || sinceMs === null || nowMs - sinceMs >= HEALS_MS;
    return this.#reason({ rule: "trouble", value, seq, quote: activity.text }, certain);
  }

  /** A measure that has come down again stands until good steps clear it. */
  #stand(measure: Measure): void {
    const { watch, alert } = this.#threshold(measure.rule);
    const level = (value: number): number => (value >= alert ? 2 : value >= watch ? 1 : 0);
    const before = this.#standing.get(measure.rule);
    if (level(measure.value) === 0 || level(measure.value) < level(before?.value ?? 0)) return;
    this.#standing.set(measure.rule, measure);
  }

  #speak(activity: Extract<Activity, { kind: "said" | "thought" }>, seq: number): void {
    this.#trouble = null;
    if (this.#waiting !== "tool") this.#waiting = "model";
    if (this.#intent.length < INTENT_CHARS) this.#intent += `\n${activity.text.slice(0, INTENT_CHARS)}`;
    if (activity.kind === "thought") return;
    const value = this.#said.add(activity.text);
    if (this.#agent) this.#stand({ rule: "same_words", value, seq: place(seq), quote: activity.text });
  }

  #call(activity: Extract<Activity, { kind: "tool" }>, seq: number): void {
    this.#agent = true;
    this.#trouble = null;
    this.#said.end();
    this.#standing.delete("same_words");
    this.#standing.delete("unproven");
    this.#waiting = "tool";
    const text = this.#steps.use(activity, seq);
    const value = this.#words.add(`${this.#intent.slice(0, INTENT_CHARS)}\n${text}\n${activity.paths.join("\n")}`);
    this.#intent = "";
    if (value <= 1) this.#apartFrom = seq;
    this.#standing.delete("off_task");
    this.#stand({ rule: "off_task", value, seq: { from: this.#apartFrom, to: seq }, quote: text });
  }

  #answer(activity: Extract<Activity, { kind: "tool_result" }>, seq: number): void {
    const step = this.#steps.result(activity, seq);
    if (this.#steps.pending === 0) this.#waiting = "model";
    if (activity.ok) {
      this.#succeeded++;
      this.#denied = 0;
    }
    if (step === null) return;
    this.#count++;
    const measures = this.#stuck.add(step);
    for (const measure of measures) this.#stand(measure);
    const more = measures.some(({ rule, value }) => value >= this.#threshold(rule).watch);
    this.#good = isNews(step) && !step.failed && !more ? this.#good + 1 : 0;
    if (this.#good < CLEARS) return;
    for (const rule of this.#standing.keys()) if (!LOOKS.includes(rule)) this.#standing.delete(rule);
  }

  #permission(activity: Extract<Activity, { kind: "permission" }>, seq: number): void {
    if (!activity.denied) {
      this.#waiting = "permission";
      return;
    }
    this.#stand({ rule: "denied", value: ++this.#denied, seq: place(seq), quote: activity.tool });
  }

  #finish(activity: Extract<Activity, { kind: "finished" }>, seq: number): void {
    this.#said.end();
    this.#waiting = "nothing";
    if (!activity.ok) return;
    this.#trouble = null;
    this.#standing.clear();
    if (this.#agent && this.#succeeded === 0)
      this.#stand({ rule: "unproven", value: 1, seq: place(seq), quote: activity.text ?? "" });
  }

  #meet(activity: TroubleActivity, seq: number): void {
    const before = this.#trouble;
    const sinceMs = before === null ? this.#lastMs : before.sinceMs;
    const lines = { from: before?.seq?.from ?? seq, to: seq };
    this.#trouble = { activity, count: (before?.count ?? 0) + 1, sinceMs, seq: lines };
  }

  #countLine(atMs: number | null, seq: number): void {
    const measure = this.#flood.add(atMs, seq);
    if (measure === null) return;
    this.#standing.delete("flood");
    this.#stand(measure);
  }
}

/** The same for a whole run at once. */
export function judge(moments: Iterable<Moment>, task: string, facts: Facts, thresholds: Thresholds = {}): Judgement {
  const judge = new Judge(task, thresholds);
  for (const { activity, atMs, seq } of moments) judge.add(activity, atMs, seq);
  return judge.verdict(facts);
}

/** Alerts first, then what is said of an agent at `watch` already, then mere looks; among these the table's order. */
function rank({ level, rule }: Reason): number {
  const group = level === "alert" ? 0 : RULES[rule].watched === "on_track" ? 2 : 1;
  return group * RULE_NAMES.length + RULE_NAMES.indexOf(rule);
}

/** As a model sees what behaviour shows. Nothing is moved while a fact stands in the way. */
function moved(reasons: Reason[], { says }: Ruling): Reason[] {
  if (reasons.some(({ rule, level }) => RULES[rule].fact && level === "alert")) return reasons;
  const first = reasons.find(({ rule }) => !RULES[rule].fact);
  const level = says === "trouble" ? "alert" : "watch";
  return reasons
    .map((reason) => {
      if (RULES[reason.rule].fact || (says === "trouble" && reason !== first)) return reason;
      return { ...reason, level, own: reason.level } as const;
    })
    .sort((a, b) => rank(a) - rank(b));
}

function confidenceOf(verdict: Verdict, { rule, level, own = level }: Reason): number {
  if (verdict === "unknown") return 0;
  return verdict === "on_track" ? ON_TRACK.poor : confidence(RULES[rule].precision[own]);
}

function place(seq: number): LineRange {
  return { from: seq, to: seq };
}

/** One line, bounded, without secrets: quotes leave midwatch. */
function quoted(text: string): string {
  return oneLine(maskText(text.slice(0, QUOTE_CHARS * 8)), QUOTE_CHARS);
}
