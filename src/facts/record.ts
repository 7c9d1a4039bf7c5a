/** Rows and records of one run, made from its facts and its files. The registry stores what is computed here. */

import { type Stats, statSync } from "node:fs";
import { attentionOf, type Watched } from "../core/attention.ts";
import type { Unsettled, Wake } from "../core/attention-record.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { type Said, saidIn, statusWord } from "../core/phase.ts";
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import type { DeferredCall, ListRecord, Member, RunSummary, SpentPart } from "../core/types.ts";
import type { Layout } from "../disk/layout.ts";
import type { AgentRow, Listed, RunRow } from "../registry/registry.ts";
import { sumOf } from "../spend/spent.ts";
import { callText } from "./call-text.ts";
import type { Facts } from "./facts.ts";
import { logPath, openAt } from "./log-path.ts";
import { phaseNow } from "./observe.ts";
import { passedLimit } from "./passed-limit.ts";
import { outcomeOf, reasonOf } from "./state.ts";

/** What a person has brought back stays plain for an hour at least, however short `archive_after` is. */
const RESTORED_MS = 3_600_000;
/** An archive that failed is not tried again by a loop that comes round each second. */
const AGAIN_MS = 60_000;

export function agentRow(intent: IntentFact): AgentRow {
  const { agent, task, driver, role, name, parent, depth, created_at, model, labels, capability } = intent;
  return { id: agent, task, driver, role, name, parent, depth, created_at, model, labels, capability };
}

export function runRow(
  layout: Layout,
  task: TaskId,
  agent: AgentId,
  run: number,
  facts: Facts,
  newest: boolean,
  alive: Member[] | null = null,
): RunRow {
  const phase = phaseNow(facts);
  const of = { task, agent, run, newest };
  const [log, file] = openAt(layout, of, ({ log: path }) => {
    const there = stat(path);
    return there && ([path, there] as const);
  }) ?? [logPath(layout, of).log];
  const { intent, claim, start, exit, done, hold } = facts;
  const result = facts.cleanup?.result;
  return {
    agent,
    run,
    nonce: intent?.nonce ?? claim?.nonce ?? "",
    phase,
    outcome: outcomeOf(facts, phase),
    guarantee: done?.guarantee ?? start?.guarantee ?? null,
    verdict: null,
    alive: phase === "lost" ? alive : null,
    hold: phase === "running" || phase === "lost" ? (hold ?? null) : null,
    pid: start?.main?.pid ?? null,
    keeper_pid: start?.keeper.pid ?? null,
    log,
    // What was printed, also when the file is compressed.
    bytes: (log.endsWith(".zst") ? done?.log_bytes : file?.size) ?? done?.log_bytes ?? 0,
    last_output_at: file && file.size > 0 ? iso(Math.trunc(file.mtimeMs)) : null,
    created_at: intent?.created_at ?? claim?.at ?? iso(stat(layout.run(task, agent, run).sealed)?.mtimeMs ?? 0),
    created_mono_ms: intent?.created_mono_ms ?? null,
    started_at: start && !start.exec_error ? start.started_at : null,
    // The same before and after a failed launch has its done.json.
    ended_at:
      phase === "launch_failed" ? (start?.started_at ?? claim?.at ?? null) : (exit?.ended_at ?? done?.ended_at ?? null),
    exit_code: exit?.code ?? null,
    exit_signal: exit?.signal ?? null,
    tokens: result?.tokens ?? null,
    cost_usd: result?.cost_usd ?? null,
    spent: result?.spent ? costOf(result.spent) : null,
    reason: reasonOf(facts, phase),
    session: result?.session ?? intent?.session ?? null,
    queued: phase === "intended" && intent?.queued ? 1 : 0,
    turn_mono_ms: null,
    archive_from: phase === "drained" || phase === "archived" ? archiveFrom(facts) : null,
    model: result?.model ?? intent?.model ?? null,
    unsettled: unsettledOf(facts),
    passed: passedLimit(facts),
  };
}

function unsettledOf({ intent, cleanup }: Facts): Unsettled | null {
  const result = cleanup?.result;
  if (!result || !intent) return null;
  const { asks = null, denied, failures = null, deferred, outcome, tools } = result;
  // A run that failed for another reason is not mended by a permission.
  const decides = denied && (outcome === "completed" || denied.count >= tools);
  const all: Unsettled = {
    asks,
    deferred: deferred ? deferredText(deferred) : null,
    denied: decides ? { ...denied, permission: intent.permission } : null,
    failures,
  };
  return Object.values(all).every((one) => one === null) ? null : all;
}

function deferredText({ tool, input }: DeferredCall): string {
  const call = callText(input);
  return call === "" ? tool : `${tool} (${call})`;
}

/** The time that `archive_after` counts from; null when there is nothing (more) to archive. */
function archiveFrom({ cleanup, exit, done }: Facts): string | null {
  if (!done?.verified || cleanup?.archived_at !== undefined) return null;
  const failed = cleanup?.failures?.find(({ step }) => step === "archive");
  if (failed !== undefined) return iso(Date.parse(failed.at) + AGAIN_MS);
  if (cleanup?.restored_at !== undefined) return iso(Date.parse(cleanup.restored_at) + RESTORED_MS);
  return exit?.ended_at ?? done.ended_at;
}

/** `summary` is the watch's, of a run that lives, `usdPerHour` the ledger's, `said` the agent's newest report. */
export function listRecord(
  { agent, run }: Listed,
  summary: AgentSummary | null = null,
  usdPerHour: number | null = null,
  said?: Said,
): ListRecord {
  const status = statusWord(run, saidIn(run, said));
  const record = { ...bareRecord({ agent, run }), status, ...usedOf(run, summary), usd_per_hour: usdPerHour };
  const { session, unsettled } = run;
  const known = { ...record, session, unsettled, watched: summary && watchedOf(summary) };
  return { ...record, attention: attentionOf(known, Date.now()) };
}

function watchedOf({ on_track_status: verdict, cause, resets_at, evidence, asks = null }: AgentSummary): Watched {
  const [first] = evidence;
  return { verdict, cause, resets_at, rule: first?.rule ?? null, value: first?.value ?? 0, asks };
}

type Used = Pick<ListRecord, "tokens" | "cost_usd" | "cost_estimated">;

function usedOf({ tokens, cost_usd, spent }: RunRow, summary: AgentSummary | null): Used {
  if (spent !== null) return { tokens, cost_usd: spent.usd, cost_estimated: spent.usd !== null && spent.estimated };
  if (tokens !== null || cost_usd !== null || summary === null) return { tokens, cost_usd, cost_estimated: false };
  return { tokens: summary.tokens, cost_usd: summary.cost_usd, cost_estimated: summary.cost_estimated };
}

function costOf(parts: readonly SpentPart[]): RunRow["spent"] {
  const { usd, estimated } = sumOf(parts);
  return { usd, estimated };
}

function bareRecord({ agent, run }: Listed): Omit<ListRecord, "attention" | "status" | keyof Used | "usd_per_hour"> {
  return {
    agent: agent.id,
    task: agent.task,
    driver: agent.driver,
    role: agent.role,
    parent: agent.parent,
    run: run.run,
    phase: run.phase,
    outcome: run.outcome,
    guarantee: run.guarantee,
    verdict: run.verdict,
    reason: run.reason,
    queued: run.queued === 1,
    wake: run.queued === 1 ? ROOM : null,
    alive: run.alive,
    hold: run.hold,
    log: run.log,
    bytes: run.bytes,
    last_output_at: run.last_output_at,
    started_at: run.started_at,
    ended_at: run.ended_at,
    exit: { code: run.exit_code, signal: run.exit_signal },
    limit: run.passed,
  };
}

/** What budgets say is added by whoever lists runs. */
const ROOM: Wake = { on: "room", why: "waits for room: `max_running` agents run at once", not_before: null };

export function runSummary(row: RunRow): RunSummary {
  const { run, phase, outcome, pid, started_at, ended_at, log, bytes } = row;
  return {
    run,
    phase,
    outcome,
    pid,
    started_at,
    ended_at,
    exit: { code: row.exit_code, signal: row.exit_signal },
    log,
    bytes,
  };
}

export function stat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
