/**
 * The shape of each fact of a run (docs/formats.md). An agent can write in its run folder: what does not fit is no fact, and the run is
 * shown as damaged. What fits is still a claim; whether it is true the kernel says (witness.ts).
 */
import { isAgentId, isTaskId } from "../core/ids.ts";
import {
  anything,
  argument,
  type Check,
  faultOf,
  has,
  is,
  listOf,
  maybe,
  name,
  nonce,
  orNull,
  pid,
  quantity,
  type Shape,
  text,
  time,
  uid,
  whole,
  yesOrNo,
} from "../core/shape/shape.ts";

const v = maybe(is(1));
const guarantee = is("cgroup", "subreaper", "scan");
const limit = is("output", "disk", "wall", "idle", "tokens", "cost", "budget");
const outcome = is("completed", "failed", "stopped", "limit", "lost");
const process = has({ pid, start_ticks: whole });
const left = listOf(has({ pid, name, uid, why: name }), 1000);
const git = has({ repository: name, base: name, branch: name });
const tokens = has({ input: quantity, output: quantity, cache_read: quantity, cache_write: quantity });
const file = has({
  path: name,
  action: is("deleted", "archived", "kept", "missing", "failed"),
  bytes: orNull(whole),
  sha256: orNull(name),
  error: orNull(text),
});
const failure = has({ path: name, step: is("delete", "archive"), error: text, tries: whole, since: time, at: time });

const intent: Shape = {
  v,
  agent: isAgentId,
  task: isTaskId,
  run: whole,
  nonce,
  boot_id: name,
  pid_ns: name,
  created_at: time,
  created_mono_ms: whole,
  driver: name,
  role: orNull(name),
  name: orNull(name),
  parent: orNull(isAgentId),
  depth: whole,
  argv: listOf(argument),
  cwd: name,
  prompt: orNull(text),
  stdin: orNull(name),
  model: orNull(name),
  permission: is("ask", "edit", "all", "plan"),
  session: orNull(name),
  resume: yesOrNo,
  interactive: yesOrNo,
  messages: maybe(listOf(name)),
  args: listOf(argument),
  env_file: orNull(name),
  worktree: orNull(name),
  git: maybe(orNull(git)),
  labels: listOf(name),
  queued: yesOrNo,
  capability: name,
  limits: has({ output_bytes: quantity, wall_ms: quantity, idle_ms: quantity, tokens: quantity, cost_usd: quantity }),
  limit_policy: is("stop", "interrupt", "notify"),
  disk: has({ floor_bytes: quantity, policy: is("hold", "stop") }),
  sync: is("interval", "none", "always"),
  grace_ms: quantity,
  tier: is("auto", "subreaper"),
  journal: maybe(is("turns")),
  sessions: maybe(name),
  mcp: maybe(is(false)),
};

/** A launcher that gives a run up may not know its nonce. */
const claimed: Check = (value) => value === "" || nonce(value);
const claim: Shape = {
  by: is("keeper", "adopter", "launcher"),
  pid,
  start_ticks: whole,
  nonce: claimed,
  why: maybe(text),
  at: time,
};

const result: Check = has({
  outcome,
  reason: orNull(text),
  session: orNull(name),
  model: orNull(name),
  tokens: orNull(tokens),
  session_use: orNull(has({ tokens, cost_usd: orNull(quantity) })),
  cost_usd: orNull(quantity),
  spent: maybe(listOf(has({ model: orNull(name), tokens, usd: orNull(quantity), estimated: yesOrNo }))),
  turns: quantity,
  tools: quantity,
  subagents: maybe(quantity),
  deferred: maybe(orNull(has({ id: orNull(name), tool: name, input: anything }))),
  text: orNull(text),
  asks: maybe(orNull(text)),
  denied: maybe(orNull(has({ count: whole, tool: name, call: text }))),
  failures: maybe(orNull(whole)),
});

/** A file of a run folder that is read as a fact. */
export type FactName =
  | "intent.json"
  | "claim"
  | "adopt.json"
  | "start.json"
  | "stop.json"
  | "hold.json"
  | "exit.json"
  | "limit.json"
  | "stuck.json"
  | "done.json"
  | "cleanup.json";

export const SHAPES: Readonly<Record<FactName, Shape>> = {
  "intent.json": intent,
  claim,
  "adopt.json": claim,
  "start.json": {
    v,
    keeper: process,
    main: orNull(process),
    boot_id: name,
    pid_ns: name,
    guarantee,
    cgroup: orNull(name),
    tmpdir: orNull(name),
    started_at: time,
    exec_error: orNull(has({ errno: whole, name, what: name })),
  },
  "stop.json": {
    v,
    tries: maybe(whole),
    reason: orNull(text),
    by: maybe(has({ pid, uid })),
    grace_ms: quantity,
    requested_at: maybe(time),
    limit: maybe(limit),
  },
  "hold.json": { why: is("disk", "quota", "host"), since: time },
  "exit.json": {
    v,
    code: orNull(whole),
    signal: orNull(name),
    core: yesOrNo,
    ended_at: time,
    user_ms: orNull(quantity),
    system_ms: orNull(quantity),
    max_rss_kb: orNull(quantity),
    stop_requested: yesOrNo,
    limit: orNull(limit),
    interrupted: maybe(orNull(limit)),
  },
  "limit.json": {
    v,
    limit,
    reason: text,
    at: time,
    value: maybe(quantity),
    spent: maybe(quantity),
    action: maybe(is("stop", "interrupt", "notify")),
  },
  "stuck.json": { left, since: time },
  "done.json": {
    v,
    verified: yesOrNo,
    guarantee,
    processes: listOf(has({ pid, name, ended_by: name }), 1000),
    processes_total: whole,
    left,
    children: listOf(has({ pid, run: name })),
    took_ms: quantity,
    log_bytes: whole,
    log_lines: whole,
    stderr_bytes: whole,
    mirrored: yesOrNo,
    restored: maybe(whole),
    cuts: maybe(whole),
    cut_bytes: maybe(whole),
    durable: maybe(orNull(yesOrNo)),
    removed: listOf(has({ path: name, bytes: whole })),
    ended_at: time,
  },
  "cleanup.json": {
    result: maybe(orNull(result)),
    files: listOf(file),
    freed_bytes: quantity,
    at: time,
    failures: maybe(listOf(failure)),
    archived_at: maybe(time),
    restored_at: maybe(time),
  },
};

/** A prompt of a MiB is part of an intent, and may be written in escapes. */
const INTENT_BYTES = 8 << 20;
const FACT_BYTES = 1 << 20;

export function factBytes(fact: FactName): number {
  return fact === "intent.json" ? INTENT_BYTES : FACT_BYTES;
}

/** What is wrong with it, in words; undefined when it can be used. */
export function factFault(fact: FactName, value: unknown): string | undefined {
  return faultOf(SHAPES[fact], value);
}
