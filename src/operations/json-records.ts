/** The records that several operations print with `--json`, field by field. */

import type { TaskFact } from "../core/intent.ts";
import type { ListRecord, Message, ShowRecord } from "../core/types.ts";
import type { AgentSummary, BudgetRecord, JournalEvent, LogRecord, RunRecord, Workspace } from "../fleet/workspace.ts";

/** Names of the fields, of every member of a union, without those that any record may have besides. */
type Keys<T> = T extends unknown
  ? keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: 0 }
  : never;
export type Fields<T> = { readonly [K in Keys<T>]: string };
export type Answer<O extends keyof Workspace, M extends keyof Workspace[O]> = Workspace[O][M] extends (
  ...given: never
) => infer R
  ? Item<Awaited<R>>
  : never;
type Item<T> = T extends readonly (infer E)[] ? E : T extends AsyncIterable<infer E> ? E : T;

export const RUN: Fields<RunRecord> = {
  agent: "its id",
  task: "id of its task",
  run: "number of the run, from 1",
  phase: "`running`, `launch_failed`, or `intended` while it is queued",
  log: "path of the log",
  pid: "of the agent's main process",
  keeper_pid: "of the keeper",
  guarantee: "how its end can be proven: `cgroup`, `subreaper` or `scan`",
  wake: "what it waits for while it is queued, as in `ls` (may be missing)",
  warning: "something a person should know, such as little disk space (may be missing)",
  error: "`{code, message}` of a launch that failed (may be missing)",
};

export const LIST: Fields<ListRecord> = {
  agent: "its id",
  task: "id of its task",
  driver: "how it is run",
  role: "what it is for",
  parent: "the agent that started it",
  run: "number of its newest run",
  phase:
    "`intended`, `launching`, `running`, `stopping`, `exited`, `drained`, `archived`, `launch_failed`, `lost`, `stuck`",
  outcome: "`completed`, `failed`, `stopped`, `limit`, `lost`; null while it lives",
  status:
    "phase and outcome in one word: `queued`, `running`, `blocked` (it says so itself), `completed`, `failed`, `terminated`, `error`",
  guarantee: "`cgroup`, `subreaper`, `scan`",
  verdict: "what the watch said last: `on_track`, `drifting`, `off_track`, `blocked`, `unknown`",
  reason: "why the outcome is not `completed`, in one sentence",
  attention:
    "null, or `{kind, why, next}` of one that needs a person; kind is `lost`, `stuck`, `held`, `asks`, `blocked`, `off_track`, `budget`, `launch_failed`, `failed`, `denied`, `gave_up`, `limit`; next is a command",
  queued: "whether it waits for its turn",
  wake: "null, or `{on, why, not_before}` while it is queued: on is `room` or `budget`, why names what to type",
  alive: "`[{pid, name}]` of a run that lost its keeper; null when nobody looked",
  hold: "`{why, since}` while it is held",
  log: "path of the log",
  bytes: "size of the log",
  last_output_at: "when it last printed",
  started_at: "",
  ended_at: "",
  exit: "`{code, signal}`; both null: not known",
  tokens: "`{input, output, cache_read, cache_write}` as the CLI counts",
  cost_usd: "in US dollars; null: not known",
  cost_estimated: "whether a part of it was worked out from tokens and a list of prices",
  usd_per_hour: "what it spends in an hour, by its last ten minutes; null when it does not live or nobody has told",
  limit:
    "null, or `{limit, value, at, spent, overshoot}` of a limit that it passed: `tokens`, `cost`, `wall`, `idle`, `output` or `disk`; in tokens, dollars, ms or bytes; `spent` and `overshoot` of tokens and cost, of an ended run all that it came to",
};

export const SHOW: Fields<ShowRecord> = {
  ...LIST,
  worktree: "`{path, repository, base, branch, dirty, commits}` of a worktree of its own",
  children: "agents that it started, `{agent, driver, role, phase, outcome, children}`",
  runs: "all runs, `{run, phase, outcome, pid, started_at, ended_at, exit, log, bytes}`",
  files: "`{path, kind, bytes, created_at, sha256}`",
  cleanup_failures: "steps of its cleanup that failed",
  pinned: "no prune takes it",
  subagents: "how many agents its CLI started inside its own process, when it has ended",
  deferred: "`{id, tool, input}` of the call that it left for a person to decide",
  claim: "as `claim`, when it holds the one on its task",
  watched_by: "`{by, agent, pid}`: `up`, `companion` or null; the companion's agent; the process",
};

export const LOG: Fields<LogRecord> = {
  seq: "line number from 1",
  offset: "byte at which the line begins",
  timestamp: "the line's own, else from the index, else null",
  type: "`stdout`, `stderr`, `lifecycle`, `line`, `parse_error`",
  data: "the line, when it is JSON",
  text: "the line, when it is other UTF-8",
  b64: "the line, when it is neither",
  partial: "an unfinished last line",
  truncated: "longer than is shown",
  line_number: "of a parse_error",
  raw_content: "its beginning",
  error: "why it is none",
};

export const EVENT: Fields<JournalEvent> = {
  v: "1",
  id: "UUIDv7",
  interaction: "number of the conversation",
  actor: "who says it",
  type: "",
  content: "",
  timestamp: "",
  task: "(may be missing, as all below)",
  agent: "",
  to: "whom it is for",
  cause: "id of the event that led to this one",
  origin: "",
  term: "of the leader that wrote it",
  data: "facts for programs",
};

export const SUMMARY: Fields<AgentSummary> = {
  instance_id: "the agent",
  instance_name: "",
  timestamp: "when it was made",
  current_activity: "what it does, in a sentence",
  on_track_status: "the verdict",
  confidence_score: "how often the rule behind it was right",
  confidence_cases: "on how many labelled runs that was measured; 0: it is assumed",
  finding:
    "`{rule, line, since, cost_usd}` of what behaviour shows: since which line and when, and what it had cost then; null when nothing",
  assigned_task: "",
  parent_instance_id: "",
  role: "",
  last_tool_used: "",
  recent_tools: "",
  output_preview: "",
  idle_duration_seconds: "",
  drift_reasons: "the rules in words",
  alignment_keywords: "",
  recommended_action: "",
  evidence: "`{source, rule, level, about, value, threshold, log, quote}`",
  schema_version: "",
  id: "of the last change",
  task: "",
  run: "",
  level: "`none`, `watch`, `alert`",
  cause: "what stands in the way of a blocked agent",
  resets_at: "",
  since: "when the verdict became what it is",
  verdict_source: "whose word the verdict is: `fact`, `rule` or `rule+model`",
  bad_lines: "lines of its log that should be JSON and are not (may be missing)",
  position: "how far the log was read",
  model: "",
  tokens: "",
  cost_usd: "",
  cost_estimated: "worked out from tokens and a list of prices",
  tools: "how many it used",
  final: "the run has ended and all of its log was read",
  asks: "the question that it asked when it finished its last turn (may be missing)",
  second_opinion: "what a model says, null where none is asked",
};

export const VERIFIED: Fields<Omit<Answer<"logs", "verify">, "damaged">> = {
  ok: "",
  lines: "",
  bytes: "",
  bad: "the first 100, `{line_number, offset, error}`",
  bad_count: "",
  partial: "the last line is unfinished",
  index: "`ok`, `stale`, `wrong`, `none`",
};

export const MESSAGE: Fields<Message> = {
  id: "",
  agent: "",
  run: "",
  at: "when it was accepted",
  from: "an agent, `person`, or `prompt`",
  text: "",
  state: "`accepted`, `injected`, `consumed`, `failed`",
  state_at: "",
  taken_by: "the later run that got it with its prompt",
  why: "why it failed",
};

export const TASK: Fields<TaskFact> = {
  v: "1",
  task: "its id",
  description: "",
  created_at: "",
  priority: "(may be missing, as all below)",
  labels: "",
  deliverables: "",
  constraints: "",
  files: "",
  max_agents: "",
  on_verdict: "",
  archive_dir: "name of its archive folder, where it is not `archive`",
};

export const BUDGET: Fields<BudgetRecord> = {
  period: "`run`, `tree`, `day`, `week`",
  label: "only runs that have it count; null: all of them",
  reach: "`workspace`, `user` (all workspaces), `fleet`",
  unit: "`usd`, `tokens`",
  of: "the budget",
  spent: "of it",
  estimated: "a part of that was worked out from a list of prices",
  unpriced: "runs without a known price, which are not in it",
  percent: "",
  on: "when it is passed: `tell`, `stop`, `hold`",
  since: "the window; null for a run or a tree",
  until: "",
  zone: "whose midnight counts",
  whose: "the run or the top of the tree that has spent most, of those that live",
  held: "agents that wait for it",
  from: "`set` by a command, in the trusted `file`, in an `untrusted` one that is stricter",
  raise: "the command that raises it",
};

export const ARCHIVED: Fields<Answer<"files", "archive">> = {
  agent: "",
  run: "",
  files: "`{path, action, bytes, sha256, error}`",
  ratio: "size of the archive to that of the log",
};
