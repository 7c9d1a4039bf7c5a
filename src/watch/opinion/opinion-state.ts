/**
 * What is kept of a model's opinions of one agent: summaries/<agent>/second_opinion.json. It is read again, changed and replaced under a
 * lock, so that several watches share one budget and ask once.
 */

import {
  has,
  is,
  listOf,
  maybe,
  name,
  orNull,
  pid,
  quantity,
  type Shape,
  time,
  whole,
} from "../../core/shape/shape.ts";
import type { AgentSummary, SecondOpinion } from "../../core/summary.ts";
import { iso } from "../../core/time.ts";
import { makeFolder } from "../../disk/inside.ts";
import { alone } from "../../disk/lock.ts";
import { readJson } from "../../disk/replace.ts";
import { replaceInside } from "../../disk/write-inside.ts";
import { hasFact } from "../../facts/run-numbers.ts";
import type { Ruling } from "../../judge/judge.ts";
import { isGone, type Somebody, self } from "../../process/identity.ts";
import type { Context, RunName } from "../../workspace/context.ts";
import type { Spent } from "./budget.ts";

export interface OpinionState {
  v: 1;
  run: number;
  /** How far the model was given the log of the run. */
  offset: number;
  line: number;
  /** When it was asked last and answered, and of which summary. */
  asked_at: string | null;
  about: string | null;
  /** The finding that it was asked about last, by its line: once is enough. */
  finding: number | null;
  /** What it said of that, with lines that hold it. */
  ruling: Ruling | null;
  /** Calls of this day, by UTC. */
  day: { date: string; calls: number };
  /** A call is under way, or its caller died in it. */
  claim: { id: string; at: string; process: Somebody } | null;
  /** Of the last hour. */
  spent: Spent[];
  /** Since the agent was first asked about; `model` is the last one asked. */
  used: { calls: number; input: number; output: number; model: string };
  opinion: SecondOpinion | null;
}

const STATE: Shape = {
  v: is(1),
  run: maybe(whole),
  offset: maybe(whole),
  line: maybe(whole),
  asked_at: maybe(orNull(time)),
  about: maybe(orNull(name)),
  finding: maybe(orNull(whole)),
  ruling: maybe(orNull(has({ line: whole, says: is("trouble", "no_trouble") }))),
  day: maybe(has({ date: name, calls: whole })),
  claim: maybe(
    orNull(has({ id: name, at: time, process: has({ pid, start_ticks: whole, boot_id: name, pid_ns: name }) })),
  ),
  spent: maybe(listOf(has({ id: name, atMs: quantity, tokens: quantity }))),
  used: maybe(has({ calls: quantity, input: quantity, output: quantity, model: name })),
  opinion: maybe(orNull(has({}))),
};

const NEW: OpinionState = {
  v: 1,
  run: 0,
  offset: 0,
  line: 0,
  asked_at: null,
  about: null,
  finding: null,
  ruling: null,
  day: { date: "", calls: 0 },
  claim: null,
  spent: [],
  used: { calls: 0, input: 0, output: 0, model: "" },
  opinion: null,
};

/** As of this run: of another one only the budget counts. */
export function readOpinionState(context: Context, of: RunName): OpinionState {
  return asOf(readStored(context, of), of.run);
}

function readStored({ layout }: Context, { task, agent }: RunName): OpinionState {
  const stored = readJson<OpinionState>(layout.agent(task, agent).secondOpinion, { shape: STATE }).value;
  return stored ? { ...NEW, ...stored } : NEW;
}

function asOf(state: OpinionState, run: number): OpinionState {
  return state.run === run ? state : { ...NEW, run, spent: state.spent, used: state.used, day: state.day };
}

/** `change` gives the next state, or null to leave it; true when it is that. Nothing is made for an agent that was pruned. */
export async function changeOpinionState(
  context: Context,
  of: RunName,
  change: (state: OpinionState) => OpinionState | null,
): Promise<boolean> {
  const { layout } = context;
  const { summaries, secondOpinion } = layout.agent(of.task, of.agent);
  return await alone(layout, layout.locks.opinion(of.agent), () => {
    if (!hasFact(layout.run(of.task, of.agent, of.run), "intent")) return false;
    const stored = readStored(context, of);
    const changed = change(asOf(stored, of.run));
    if (changed === null) return false;
    // A call that ends when the next run is asked about already has cost something, and nothing else to say.
    const { spent, used } = changed;
    const next = stored.run > of.run ? { ...stored, spent, used } : changed;
    makeFolder(layout.root, summaries);
    replaceInside(layout.root, secondOpinion, `${JSON.stringify(next)}\n`);
    return next === changed;
  });
}

export interface Times {
  nowMs: number;
  startedMs: number;
  /** Null: it is asked about findings alone. */
  everyMs: number | null;
  claimMs: number;
  perDay: number;
}

/** Behaviour shows something that it was not asked about yet. */
export function isNewFinding(state: OpinionState, { finding, verdict_source: source, level }: AgentSummary): boolean {
  if (finding == null || state.finding === finding.line) return false;
  // While a fact stands in the way, nothing that it says would count.
  return !(source === "fact" && level === "alert");
}

function callsOn({ day }: OpinionState, nowMs: number): number {
  return day.date === dayOf(nowMs) ? day.calls : 0;
}

function dayOf(nowMs: number): string {
  return iso(nowMs).slice(0, 10);
}

/** Whether the model should be asked about this summary now. */
export function isDue(
  state: OpinionState,
  summary: AgentSummary,
  { nowMs, startedMs, everyMs, claimMs, perDay }: Times,
): boolean {
  if (summary.final || summary.position.line <= state.line) return false;
  if (state.claim !== null && isHeld(state.claim, nowMs, claimMs)) return false;
  if (callsOn(state, nowMs) >= perDay) return false;
  if (isNewFinding(state, summary)) return true;
  if (everyMs === null) return false;
  // That nothing is known of a new agent is no news.
  const changed = state.about !== summary.id && !(state.about === null && summary.on_track_status === "unknown");
  const lastMs = state.asked_at === null ? startedMs : Date.parse(state.asked_at);
  return changed || Math.abs(nowMs - lastMs) >= everyMs;
}

export function claimed(state: OpinionState, id: string, nowMs: number): OpinionState {
  const day = { date: dayOf(nowMs), calls: callsOn(state, nowMs) + 1 };
  return { ...state, day, claim: { id, at: iso(nowMs), process: self() } };
}

/** Not by who died in the call, nor for longer than calls take. */
function isHeld({ at, process }: NonNullable<OpinionState["claim"]>, nowMs: number, claimMs: number): boolean {
  return Math.abs(nowMs - Date.parse(at)) < claimMs && !isGone(process);
}
