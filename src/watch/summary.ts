/**
 * A verdict with its context, for people and other agents. The first sixteen fields have the names of the older monitor, so that what
 * read its files reads these; the rest says why, since when, and up to where the log was read. Everything that quotes is masked.
 */

import { stripVTControlCharacters } from "node:util";
import type { AgentId, TaskId } from "../core/ids.ts";
import { maskText } from "../core/mask/mask.ts";
import { questionIn } from "../core/question.ts";
import type { AgentSummary, Evidence } from "../core/summary.ts";
import { oneLine } from "../core/text/one-line.ts";
import { iso } from "../core/time.ts";
import type { Outcome } from "../core/types.ts";
import type { Activity, StreamResult } from "../drivers/index.ts";
import { placeId } from "../journal/event.ts";
import type { Facts, Judgement, Reason } from "../judge/judge.ts";
import { RULES } from "../judge/rules.ts";
import type { LineRange } from "../judge/steps.ts";
import type { Log } from "../log/log.ts";
import type { RunSpent } from "../spend/spent.ts";
import type { StreamPlace } from "../stream/stream-state.ts";
import type { Recent } from "./run-reading.ts";

const SUMMARY_VERSION = 1;

/** The bytes of some lines. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Whose summary it is. */
export interface Subject {
  agent: AgentId;
  name: string | null;
  task: TaskId;
  run: number;
  role: string | null;
  parent: AgentId | null;
  model: string | null;
  /** The goal in words. */
  assigned: string;
}

export interface SummaryOf {
  subject: Subject;
  facts: Facts;
  judgement: Judgement;
  recent: Recent;
  result: Pick<StreamResult, "model" | "tokens" | "tools">;
  cost: Pick<RunSpent, "usd" | "estimated">;
  place: StreamPlace;
  /** Lines that should be JSON and are not. */
  badLines: number;
  /** Bytes of the lines that a reason names. */
  bytes(place: LineRange): ByteRange;
  previous: AgentSummary | null;
  final: boolean;
}

const TASK_CHARS = 500;
const PREVIEW_CHARS = 200;
const ACTIVITY_CHARS = 160;
const EVIDENCE_MOST = 5;
const PLACES_KEPT = 16;

export function makeSummary(of: SummaryOf): AgentSummary {
  const { subject, facts, judgement, recent, result, cost, place, previous } = of;
  const { verdict, cause } = judgement;
  const same = previous !== null && previous.on_track_status === verdict && previous.cause === cause;
  const model = result.model ?? subject.model;
  return {
    instance_id: subject.agent,
    instance_name: subject.name ?? subject.agent,
    timestamp: iso(facts.nowMs),
    current_activity: activityOf(facts, recent.activity),
    on_track_status: verdict,
    confidence_score: judgement.confidence,
    assigned_task: line(subject.assigned, TASK_CHARS),
    parent_instance_id: subject.parent,
    role: subject.role,
    last_tool_used: recent.tools.at(-1) ?? null,
    recent_tools: [...recent.tools],
    output_preview: line(recent.text.slice(-PREVIEW_CHARS * 4), PREVIEW_CHARS),
    idle_duration_seconds: idleSeconds(facts),
    drift_reasons: judgement.reasons.map(({ rule, value, threshold }) => `${rule}: ${value} (from ${threshold})`),
    alignment_keywords: recent.keywords,
    recommended_action: actionOf(judgement, facts),
    evidence: judgement.reasons.slice(0, EVIDENCE_MOST).map((reason) => evidenceOf(reason, of)),
    schema_version: SUMMARY_VERSION,
    confidence_cases: judgement.cases,
    finding: findingOf(of),
    id: same
      ? previous.id
      : placeId("verdict", `${subject.agent}.${subject.run}`, `${place.line} ${verdict} ${cause ?? ""}`),
    task: subject.task,
    run: subject.run,
    level: judgement.level,
    cause,
    resets_at: judgement.resets_at,
    since: same ? previous.since : iso(facts.nowMs),
    verdict_source: judgement.source,
    position: {
      offset: place.offset,
      line: place.line,
      checksum: place.checksum,
      missed_bytes: place.missed_bytes,
    },
    model,
    tokens: result.tokens,
    cost_usd: cost.usd,
    cost_estimated: cost.usd !== null && cost.estimated,
    tools: result.tools,
    bad_lines: of.badLines,
    final: of.final,
    asks: askedBy(recent.activity),
    second_opinion: null,
  };
}

/** What a reader of the file would see change; the clock alone changes nothing. */
export function isNews(summary: AgentSummary, before: AgentSummary | null): boolean {
  if (before === null) return true;
  const { timestamp: _at, idle_duration_seconds: _idle, evidence: _evidence, drift_reasons: _why, ...rest } = summary;
  return Object.entries(rest).some(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof AgentSummary]),
  );
}

/** Since when, and what the agent has cost since. */
function findingOf({
  judgement: { finding },
  facts,
  cost,
  previous,
}: SummaryOf): NonNullable<AgentSummary["finding"]> | null {
  if (finding === null) return null;
  const before = previous?.finding?.line === finding.line ? previous.finding : null;
  return {
    ...finding,
    since: before?.since ?? iso(facts.nowMs),
    cost_usd: before === null ? cost.usd : before.cost_usd,
  };
}

function evidenceOf({ rule, level, value, threshold, evidence }: Reason, { subject, bytes }: SummaryOf): Evidence {
  const place = evidence.seq;
  const at = place === null ? null : bytes(place);
  const log =
    place === null || at === null
      ? null
      : { run: subject.run, line_start: place.from, line_end: place.to, byte_start: at.start, byte_end: at.end };
  return { source: "rules", rule, level, about: RULES[rule].about, value, threshold, log, quote: evidence.quote };
}

function idleSeconds({ nowMs, lastOutputMs, startedMs }: Facts): number | null {
  const since = lastOutputMs ?? startedMs;
  return since === null ? null : Math.max(0, Math.round((nowMs - since) / 1000));
}

function activityOf({ phase, outcome, why, queued }: Facts, activity: Activity | null): string {
  // One that lost its keeper may well work on; its outcome only says that nobody will see the end.
  if (outcome !== null && phase !== "lost") return line(endWords(outcome, why), ACTIVITY_CHARS);
  if (queued) return "Queued: starts when there is room";
  if (phase === "intended" || phase === "launching") return "Starting";
  if (activity === null) return "No output yet";
  switch (activity.kind) {
    case "tool":
      return line(`Uses ${activity.name}: ${String(activity.input)}`, ACTIVITY_CHARS);
    case "tool_result":
      return "Reading tool output";
    case "said":
      return line(`Says: ${activity.text}`, ACTIVITY_CHARS);
    case "thought":
      return line(`Thinks: ${activity.text}`, ACTIVITY_CHARS);
    case "permission":
      return `${activity.denied ? "Was not permitted" : "Asks for permission"} to use ${line(activity.tool, 60)}`;
    case "trouble":
      return line(`Trouble with its model: ${activity.text}`, ACTIVITY_CHARS);
    case "finished":
      return activity.ok ? "Says that it is done" : line(`Gave up: ${activity.why ?? "no reason"}`, ACTIVITY_CHARS);
    case "started":
      return "Started";
    case "usage":
    case "note":
    case "unparsed":
      return "Working";
  }
}

function askedBy(activity: Activity | null): string | null {
  const question = activity?.kind === "finished" ? questionIn(activity.text) : null;
  return question && line(question, TASK_CHARS);
}

function endWords(outcome: Outcome, why: string | null): string {
  const word = { completed: "Completed", failed: "Failed", stopped: "Stopped", limit: "Limit reached", lost: "Lost" };
  if (why === null) return word[outcome];
  return outcome === "limit" ? why : `${word[outcome]}: ${why}`;
}

function actionOf({ reasons, resets_at }: Judgement, { outcome, phase }: Facts): string {
  const [first] = reasons;
  if (first === undefined) return outcome === null || phase === "lost" ? "None." : "Look at its result.";
  return resets_at === null ? RULES[first.rule].action : `Wait until ${resets_at}. ${RULES[first.rule].action}`;
}

/** One line, bounded, without colours and secrets. */
function line(text: string, most: number): string {
  return oneLine(maskText(stripVTControlCharacters(text.slice(0, most * 8))), most);
}

/** The bytes of lines that reasons name: found once, and remembered while they are named again. */
export class Places {
  readonly #known = new Map<string, ByteRange>();

  /** Finds places before `end`. The log is opened when a place is not known yet. */
  finder(open: () => Log | undefined, end: number): (place: LineRange) => ByteRange {
    let log: Log | undefined;
    return (place) => {
      const key = `${place.from}-${place.to}`;
      const known = this.#known.get(key);
      if (known !== undefined) return known;
      log ??= open();
      const found = {
        start: log?.atLine(Math.max(0, place.from - 1), end).offset ?? 0,
        end: log?.atLine(place.to, end).offset ?? 0,
      };
      if (this.#known.size >= PLACES_KEPT) this.#known.clear();
      this.#known.set(key, found);
      return found;
    };
  }
}
