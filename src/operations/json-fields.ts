/**
 * What `--json` prints, field by field, for docs/operations.md. The compiler checks it against the records: a field that is added, renamed or
 * dropped does not pass without its sentence here. Only the generator of the page reads this.
 */
import type { Attention } from "../agent/attention.ts";
import type { ListRecord, Message, Report, ShowRecord, TaskFact } from "../core/types.ts";
import type { AgentSummary, JournalEvent, LogRecord, RunRecord, Workspace } from "../fleet.ts";

/** Names of the fields, of every member of a union, without those that any record may have besides. */
type Keys<T> = T extends unknown
  ? keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: 0 }
  : never;
type Fields<T> = { readonly [K in Keys<T>]: string };
type Answer<M extends keyof Workspace> = Workspace[M] extends (...given: never) => infer R ? Item<Awaited<R>> : never;
type Item<T> = T extends readonly (infer E)[] ? E : T extends AsyncIterable<infer E> ? E : T;

const RUN: Fields<RunRecord> = {
  agent: "its id",
  task: "id of its task",
  run: "number of the run, from 1",
  phase: "`running`, `launch_failed`, or `intended` while it is queued",
  log: "path of the log",
  pid: "of the agent's main process",
  keeper_pid: "of the keeper",
  guarantee: "how its end can be proven: `cgroup`, `subreaper` or `scan`",
  warning: "something a person should know, such as little disk space (may be missing)",
  error: "`{code, message}` of a launch that failed (may be missing)",
};

const LIST: Fields<ListRecord> = {
  agent: "its id",
  task: "id of its task",
  driver: "how it is run",
  role: "what it is for",
  parent: "the agent that started it",
  run: "number of its newest run",
  phase:
    "`intended`, `launching`, `running`, `stopping`, `exited`, `drained`, `archived`, `launch_failed`, `lost`, `stuck`",
  outcome: "`completed`, `failed`, `stopped`, `limit`, `lost`; null while it lives",
  guarantee: "`cgroup`, `subreaper`, `scan`",
  verdict: "what the watch said last: `on_track`, `drifting`, `off_track`, `blocked`, `unknown`",
  reason: "why the outcome is not `completed`, in one sentence",
  queued: "whether it waits for its turn",
  alive: "`[{pid, name}]` of a run that lost its keeper; null when nobody looked",
  hold: "`{why, since}` while it is held",
  log: "path of the log",
  bytes: "size of the log",
  last_output_at: "when it last printed",
  started_at: "",
  ended_at: "",
  exit: "`{code, signal}`; both null: not known",
  tokens: "`{input, output, cache_read, cache_write}` as the CLI counts",
  cost_usd: "as the CLI counts",
};

const SHOW: Fields<ShowRecord> = {
  ...LIST,
  worktree: "`{path, repository, base, branch, dirty, commits}` of a worktree of its own",
  children: "agents that it started, `{agent, driver, role, phase, outcome, children}`",
  runs: "all runs, `{run, phase, outcome, pid, started_at, ended_at, exit, log, bytes}`",
  files: "`{path, kind, bytes, created_at, sha256}`",
  cleanup_failures: "steps of its cleanup that failed",
};

const REPORT: Fields<Report> = {
  agent: "its id",
  run: "number of the run",
  verified: "whether it is proven that nothing is left",
  guarantee: "what the proof rests on",
  outcome: "of the run",
  exit: "`{code, signal}`",
  processes:
    "the first 1,000, `{pid, name, ended_by}`; ended_by is `self`, `SIGINT`, `SIGTERM`, `SIGKILL`, `cgroup.kill`",
  processes_total: "",
  left: "`{pid, name, uid, why}`",
  children: "keepers of other agents below it that were spared",
  files: "`{path, action, bytes, sha256, error}`; action is `deleted`, `archived`, `kept`, `missing`, `failed`",
  freed_bytes: "",
  took_ms: "",
  already_stopped: "it had ended before",
  worktree: "with --purge: `{path, action, why}` (may be missing)",
};

const LOG: Fields<LogRecord> = {
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

const EVENT: Fields<JournalEvent> = {
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

const SUMMARY: Fields<AgentSummary> = {
  instance_id: "the agent",
  instance_name: "",
  timestamp: "when it was made",
  current_activity: "what it does, in a sentence",
  on_track_status: "the verdict",
  confidence_score: "how often the rule behind it was right",
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
  evidence: "`{rule, level, about, value, threshold, log, quote}`",
  schema_version: "",
  id: "of the last change",
  task: "",
  run: "",
  level: "`none`, `watch`, `alert`",
  cause: "what stands in the way of a blocked agent",
  resets_at: "",
  since: "when the verdict became what it is",
  verdict_source: "",
  position: "how far the log was read",
  model: "",
  tokens: "",
  cost_usd: "",
  cost_estimated: "worked out from tokens and a list of prices",
  tools: "how many it used",
  final: "the run has ended and all of its log was read",
  second_opinion: "what a model says, null where none is asked",
};

const VERIFIED: Fields<Answer<"verify">> = {
  ok: "",
  lines: "",
  bytes: "",
  bad: "the first 100, `{line_number, offset, error}`",
  bad_count: "",
  partial: "the last line is unfinished",
  index: "`ok`, `stale`, `wrong`, `none`",
};

const MESSAGE: Fields<Message> = {
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

const TASK: Fields<TaskFact> = {
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
};

const ARCHIVED: Fields<Answer<"archive">> = {
  agent: "",
  run: "",
  files: "`{path, action, bytes, sha256, error}`",
  ratio: "size of the archive to that of the log",
};

const LEADER: Fields<Answer<"leader">> = {
  role: "",
  state: "`held`, `overdue`, `gone`, `resigned`, `none`",
  holder: "",
  term: "",
  since: "",
  pid: "",
  ttl_ms: "",
};

const PEERS = { peer_progress: "what others on the task said lately", peer_findings: "what they found lately" };

/** By the name of the operation. */
export const JSON_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: RUN,
  restart: RUN,
  status: {
    needs: "`{agent, task, need, why, since, next}`, most urgent first",
    running: "`{agent, does}` of those that need nobody",
    queued: "how many",
    ended: "how many, within a day, that need nobody",
  } satisfies Fields<Attention>,
  ls: LIST,
  show: SHOW,
  wait: SHOW,
  attach: SHOW,
  logs: LOG,
  "jsonl tail": LOG,
  "jsonl page": LOG,
  page: {
    agent: "",
    run: "",
    live: "more may come",
    lines: "whole lines that are there now",
    bytes: "",
    first_line: "number of the first record",
    records: "as `logs` prints them",
    next: "`{line, offset}` of the next page",
  } satisfies Fields<Answer<"page">>,
  timeline: {
    agent: "",
    run: "",
    items: "`{at, seq, kind, label, level}`",
    thinned: "not everything is here",
  } satisfies Fields<Answer<"timeline">>,
  diff: {
    agent: "",
    worktree: "",
    branch: "",
    base: "",
    head: "",
    dirty: "something is in no commit",
    commits: "`{commit, subject, at}`",
    files: "`{path, from, status, added, deleted}`",
    patch: "null with --stat",
  } satisfies Fields<Answer<"diff">>,
  watch: SUMMARY,
  summary: SUMMARY,
  cost: {
    of: "a task, model or agent; the last line is the sum",
    runs: "",
    tokens: "`{input, output, cache_read, cache_write}`",
    cost_usd: "",
    estimated_usd: "the part that was worked out from a list of prices",
    unpriced: "runs without a price",
    prices_as_of: "",
  } satisfies Fields<Answer<"cost">>,
  stop: REPORT,
  send: { ...MESSAGE, waited: "with --wait" },
  messages: MESSAGE,
  task: TASK,
  tasks: TASK,
  progress: {
    timestamp: "",
    agent_id: "",
    status: "",
    message: "",
    progress: "percent",
    disk: "`{free_bytes, state}`: room for the workspace",
    ...PEERS,
  } satisfies Fields<Answer<"progress">>,
  finding: {
    timestamp: "",
    agent_id: "",
    finding_type: "",
    severity: "",
    message: "",
    data: "",
    ...PEERS,
  } satisfies Fields<Answer<"finding">>,
  event: EVENT,
  events: { seq: "place in the journal", ...EVENT },
  snapshot: {
    interactions: "",
    recent: "in communication.md",
    archived: "in archive.md",
    events: "",
    bad_lines: "in events.error.log",
    cursor: "",
  } satisfies Fields<Answer<"snapshot">>,
  checkpoint: { agent: "", interaction: "the last that was handled", file: "" } satisfies Fields<Answer<"checkpoint">>,
  sync: {
    state:
      "`never`, `ok`, `offline` (tried in vain, tried again now and then), `stopped` (somebody has to do something)",
    fault: "`auth`, `gone`, `race`, `policy`, `transient`, `local`; null when all is well",
    message: "what git said",
    hint: "what to do",
    remote: "without user and password",
    branch: "",
    since: "when this state began",
    tried_at: "",
    synced_at: "",
    failures: "in a row",
    synced: "events of ours that the remote has",
    waiting: "those that it does not have yet",
    rewritten: "origins whose file there does not continue the one here",
    origin: "the name of this workspace",
    origins: "workspaces whose events are here",
  } satisfies Fields<Answer<"sync">>,
  leader: LEADER,
  health: {
    state: "`ok`, `warning`, `failed`",
    leader: "as `leader`",
    alive: "whose heartbeats are heard",
    paused: "who waits after a write error",
    errors: "lately",
    elections: "lately",
    disk: "`{free_bytes}`",
    snapshot: "`{at}`",
    engine: "`{engine, durable, problems}`",
    sync: "as `sync --status`, null when never synced",
    alerts: "`{routes, failing, waiting, dead}`",
  } satisfies Fields<Answer<"health">>,
  search: {
    agent: "",
    run: "",
    seq: "line number",
    offset: "",
    timestamp: "",
    text: "the line",
    cursor: "`agent.run@offset`",
  } satisfies Fields<Answer<"search">>,
  verify: VERIFIED,
  "jsonl verify": VERIFIED,
  "jsonl count": { lines: "", records: "", bytes: "", partial: "the last line is unfinished" },
  archive: ARCHIVED,
  restore: ARCHIVED,
  reap: {
    agent: "",
    run: "",
    phase: "",
    alive: "how many processes",
    action: "what was done, or with --dry-run would be",
    path: "(may be missing, as all below)",
    error: "",
    report: "as `stop` prints it",
  } satisfies Fields<Answer<"reap">>,
  prune: {
    id: "in the trash",
    task: "",
    agent: "null for a whole task",
    action: "`trashed`, `deleted`, `restored`, `kept`, `failed`; with --dry-run `trash`, `delete`",
    why: "",
    bytes: "",
    errors: "",
  } satisfies Fields<Answer<"prune">>,
  metrics: { text: "for Prometheus" },
  doctor: { check: "what was looked at", state: "`ok`, `warning`, `failed`", message: "" },
  completion: { shell: "", script: "" },
  version: { midwatch: "", node: "", platform: "" },
};
