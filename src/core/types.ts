/**
 * The records of docs/formats.md and of `--json`. Field names are the ones on disk and in JSON (snake_case), so a
 * parsed file or a printed object is this type without a translation. Times are ISO strings; unknown is null.
 */
import type { Attention, Unsettled, Wake } from "./attention-record.ts";
import type { AgentId, TaskId } from "./ids.ts";
import type { GitOrigin, LimitName, TaskClaim } from "./intent.ts";
import type { PassedLimit, Watcher } from "./needs-watch.ts";
/** Where a run is in its life. `drained` and `archived` are over; `lost` has no keeper any more; `stuck` cannot be ended. */
export type Phase =
  | "intended"
  | "launching"
  | "running"
  | "stopping"
  | "exited"
  | "drained"
  | "archived"
  | "launch_failed"
  | "lost"
  | "stuck";
/** How a run ended; `lost` is an end that nobody saw. */
export type Outcome = "completed" | "failed" | "stopped" | "limit" | "lost";
/** Phase and outcome in one word that orchestrators know. */
export type StatusWord = "queued" | "running" | "blocked" | "completed" | "failed" | "terminated" | "error";
export type Guarantee = "cgroup" | "subreaper" | "scan";
/** What the watch thinks of a run: it does its task, has left it a little, has left it, cannot go on, or there is too little to tell by. */
export type Verdict = "on_track" | "drifting" | "off_track" | "blocked" | "unknown";
type EndedBy = "self" | "SIGINT" | "SIGTERM" | "SIGKILL" | "cgroup.kill";
type FileAction = "deleted" | "archived" | "kept" | "missing" | "failed";
export type FileKind =
  | "prompt"
  | "log"
  | "stderr"
  | "index"
  | "deploy"
  | "progress"
  | "findings"
  | "run"
  | "summaries"
  | "worktree";
interface ExitStatus {
  code: number | null;
  /** A name such as SIGTERM. */
  signal: string | null;
}

export interface Hold {
  why: "disk" | "quota" | "host";
  since: string;
}

/** A process with its identity: the pid alone may have been reused. */
export interface ProcessIdentity {
  pid: number;
  start_ticks: number;
}

export interface Member {
  pid: number;
  name: string;
}

interface LeftProcess {
  pid: number;
  /** Of one that only may belong to the run. */
  start_ticks?: number;
  name: string;
  uid: number;
  why: string;
}

interface EndedProcess {
  pid: number;
  name: string;
  ended_by: EndedBy;
}

/** A keeper below this run that was spared. */
interface SparedChild {
  pid: number;
  run: string;
}

export interface Tokens {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

/** A file that belongs to an agent. */
export interface TrackedFile {
  path: string;
  kind: FileKind;
  bytes: number | null;
  created_at: string | null;
  /** Null above 1 MiB until archived. */
  sha256: string | null;
}

/** What became of one file in a stop, a cleanup, an archive or a restore. */
export interface FileReport {
  path: string;
  action: FileAction;
  bytes: number | null;
  sha256: string | null;
  error: string | null;
}

export interface RunSummary {
  run: number;
  phase: Phase;
  outcome: Outcome | null;
  pid: number | null;
  started_at: string | null;
  ended_at: string | null;
  exit: ExitStatus;
  log: string;
  bytes: number;
}

/** A tool call that an ended run left for a person to decide. */
export interface DeferredCall {
  id: string | null;
  tool: string;
  /** Null when it is too long to be kept here; the log has it. */
  input: unknown;
}

/** What a run used of one model. `usd` is null when its price is not known. */
export interface SpentPart {
  model: string | null;
  tokens: Tokens;
  usd: number | null;
  /** Worked out from tokens and prices, not told by the CLI. */
  estimated: boolean;
}

/** What a driver read from the whole stream of an ended run. */
export interface RunResult {
  outcome: Outcome;
  /** Why it is not `completed`, in one sentence. */
  reason: string | null;
  /** The CLI's own session, for `restart --resume`. */
  session: string | null;
  model: string | null;
  tokens: Tokens | null;
  /** What the CLI counted for its whole session, when it counts so. */
  session_use: { tokens: Tokens; cost_usd: number | null } | null;
  cost_usd: number | null;
  /** What it cost by model, by the prices of that day; missing before 0.2. */
  spent?: SpentPart[];
  turns: number;
  tools: number;
  /** Agents that the CLI started inside its own process; missing in facts of 0.1. */
  subagents?: number;
  /** Missing or null: it left no call for a person to decide. */
  deferred?: DeferredCall | null;
  /** The last thing it said, cut. */
  text: string | null;
  /** The question in its last words. This and what follows is missing in facts of 0.1. */
  asks?: string | null;
  /** Tool calls that were not permitted: how many, and the first of them. */
  denied?: Omit<NonNullable<Unsettled["denied"]>, "permission"> | null;
  /** How many tool calls it made, when every one of them failed. */
  failures?: number | null;
}

/** One line of `ls --json`. */
export interface ListRecord {
  agent: AgentId;
  task: TaskId;
  driver: string;
  role: string | null;
  parent: AgentId | null;
  run: number;
  phase: Phase;
  outcome: Outcome | null;
  status: StatusWord;
  guarantee: Guarantee | null;
  verdict: Verdict | null;
  /** Why the outcome is not `completed`, in one sentence, where it is known. */
  reason: string | null;
  /** Why it needs a person; null when it does not. */
  attention: Attention | null;
  /** Waits for its turn (`run --queue`), or for a budget. */
  queued: boolean;
  /** What it waits for; null when it is not queued. */
  wake: Wake | null;
  /** The identified living members of a run; null when nobody looked. */
  alive: Member[] | null;
  hold: Hold | null;
  log: string;
  bytes: number;
  last_output_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  exit: ExitStatus;
  tokens: Tokens | null;
  /** Null when it is not known: a model without a price is none that costs nothing. */
  cost_usd: number | null;
  /** A part of it was worked out from tokens and prices. */
  cost_estimated: boolean;
  /** What it spends in an hour, by its last ten minutes; null when it does not live, or nobody has told. */
  usd_per_hour: number | null;
  /** The limit that it has passed; null when it has not. */
  limit: PassedLimit | null;
}

/** An agent that another started, with those below it. */
export interface ChildRecord extends Pick<ListRecord, "agent" | "driver" | "role" | "phase" | "outcome"> {
  children: ChildRecord[];
}

/** An agent's worktree as it is now. */
export interface WorktreeState extends GitOrigin {
  path: string;
  /** Changes that are in no commit; null when git could not tell. */
  dirty: boolean | null;
  /** Commits since the base; null when git could not tell. */
  commits: number | null;
}

/** `show --json`. */
export interface ShowRecord extends ListRecord {
  worktree: WorktreeState | null;
  children: ChildRecord[];
  runs: RunSummary[];
  files: TrackedFile[];
  cleanup_failures: CleanupFailure[];
  /** No prune takes it. */
  pinned: boolean;
  /** Agents that its CLI started inside its own process; null while that is not known. */
  subagents: number | null;
  /** The call that it left for a person to decide. */
  deferred: DeferredCall | null;
  /** Who watches the runs of its workspace for what only a reader of their logs can see. */
  watched_by: Watcher;
  /** The claim on its task that it holds. */
  claim: TaskClaim | null;
}

/** injected: handed to the agent. consumed: it has read it, or its stream says that it took it up. */
export type MessageState = "accepted" | "injected" | "consumed" | "failed";

/** One line of `messages --json`. */
export interface Message {
  id: string;
  agent: AgentId;
  run: number;
  at: string;
  /** An agent id, `person`, or `prompt`: what the run was started for. */
  from: string;
  text: string;
  state: MessageState;
  state_at: string;
  /** The later run that got it with its prompt. */
  taken_by: number | null;
  /** Why it failed. */
  why: string | null;
}

/** What a stop or a cleanup did and what is left: `stop --json`. */
export interface Report {
  agent: AgentId;
  run: number;
  verified: boolean;
  guarantee: Guarantee | null;
  outcome: Outcome | null;
  exit: ExitStatus;
  /** The first 1,000; `processes_total` counts all. */
  processes: EndedProcess[];
  processes_total: number;
  left: LeftProcess[];
  children: SparedChild[];
  files: FileReport[];
  freed_bytes: number;
  took_ms: number;
  already_stopped: boolean;
  /** With purge, of an agent with a worktree of its own. */
  worktree?: WorktreeReport;
}

/** What became of a worktree: `rescued` is removed too, its work saved as a branch; `missing` was not there. */
export interface WorktreeReport {
  path: string;
  action: "removed" | "kept" | "rescued" | "missing";
  why: string;
}

/** claim: by a launcher it means that the run never started. */
export interface ClaimFact {
  by: "keeper" | "adopter" | "launcher";
  pid: number;
  start_ticks: number;
  nonce: string;
  why?: string;
  at: string;
}

/** start.json */
export interface StartFact {
  v: 1;
  keeper: ProcessIdentity;
  main: ProcessIdentity | null;
  boot_id: string;
  pid_ns: string;
  guarantee: Guarantee;
  cgroup: string | null;
  tmpdir: string | null;
  started_at: string;
  exec_error: { errno: number; name: string; what: string } | null;
}

/** stop.json */
export interface StopFact {
  v: 1;
  /** How often it was asked for. */
  tries?: number;
  reason: string | null;
  by: { pid: number; uid: number };
  grace_ms: number;
  requested_at: string;
  /** Stopped because this limit was passed. */
  limit?: LimitName;
}

/** hold.json */
export type HoldFact = Hold;

/** exit.json: null code and null signal mean that the exit is unknown, never success. */
export interface ExitFact extends ExitStatus {
  v: 1;
  core: boolean;
  ended_at: string;
  user_ms: number | null;
  system_ms: number | null;
  max_rss_kb: number | null;
  stop_requested: boolean;
  limit: LimitName | null;
  /** The limit for which its keeper interrupted it (`limit_policy`); missing in facts of 0.1. */
  interrupted?: LimitName | null;
}

/** stuck.json */
export interface StuckFact {
  left: LeftProcess[];
  since: string;
}

/** done.json */
export interface DoneFact {
  v: 1;
  verified: boolean;
  guarantee: Guarantee;
  processes: EndedProcess[];
  processes_total: number;
  left: LeftProcess[];
  children: SparedChild[];
  took_ms: number;
  log_bytes: number;
  log_lines: number;
  stderr_bytes: number;
  /** The log was deleted while it ran: it is a copy of what the agent printed into the deleted file. */
  mirrored: boolean;
  /** How often its log or folder had lost its name and was put back, with all that was printed. Missing before 0.2. */
  restored?: number;
  /** How often somebody took away what was in its log while it ran, and how much of it had been seen by then. Missing before 0.2. */
  cuts?: number;
  cut_bytes?: number;
  /** Whether all of the log is on stable storage: false when a sync failed, null with `sync` none. Missing before 0.2. */
  durable?: boolean | null;
  removed: { path: string; bytes: number }[];
  ended_at: string;
}

/** A step of a cleanup that did not succeed; `reap` tries it again. */
export interface CleanupFailure {
  path: string;
  step: "delete" | "archive";
  error: string;
  tries: number;
  /** Of the first and of the last try. */
  since: string;
  at: string;
}

/** cleanup.json */
export interface CleanupFact {
  /** Null for drivers that read nothing from the stream. */
  result?: RunResult | null;
  files: FileReport[];
  freed_bytes: number;
  at: string;
  failures?: CleanupFailure[];
  /** Its logs were archived, or there was nothing in them. */
  archived_at?: string;
  /** A person brought the plain log back. */
  restored_at?: string;
}
