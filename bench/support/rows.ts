/** Rows of the registry with realistic content. */
import { parseAgentId, parseTaskId } from "../../src/core/ids.ts";
import type { AgentRow, RunRow } from "../../src/registry/registry.ts";

const TASK = parseTaskId("TASK-20260101-000000-00000000");
const AT = "2026-01-01T00:00:00.000Z";

export function agentRow(id: string): AgentRow {
  const none = { role: null, name: null, parent: null, model: null, labels: [], capability: null };
  return { id: parseAgentId(id), task: TASK, driver: "command", depth: 0, created_at: AT, ...none };
}

export function runRow(id: string, more: Partial<RunRow> = {}): RunRow {
  const none = { outcome: null, verdict: null, alive: null, hold: null, tokens: null, spent: null, cost_usd: null };
  const unset = {
    reason: null,
    session: null,
    queued: 0,
    turn_mono_ms: null,
    archive_from: null,
    model: null,
    unsettled: null,
    passed: null,
  };
  const later = { last_output_at: null, ended_at: null, exit_code: null, exit_signal: null };
  return {
    agent: parseAgentId(id),
    run: 1,
    nonce: "0123456789abcdef".repeat(2),
    phase: "running",
    guarantee: "cgroup",
    pid: 4711,
    keeper_pid: 4710,
    log: `/home/someone/project/.agent-workspace/${TASK}/logs/${id}_stream.jsonl`,
    bytes: 0,
    created_at: AT,
    created_mono_ms: 0,
    started_at: AT,
    ...none,
    ...unset,
    ...later,
    ...more,
  };
}
