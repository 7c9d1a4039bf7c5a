/** What a run is to be: the facts that are written before it starts. */
import type { Config } from "./config/config.ts";
import type { AgentId, TaskId } from "./ids.ts";

/** How much an agent may do without asking; each driver translates it to what its CLI offers. */
export type Permission = "ask" | "edit" | "all" | "plan";
export type Tier = Config["tier"];
/** What a run may pass: bounds of its own, or a budget that it counts to. */
export type LimitName = "output" | "disk" | "wall" | "idle" | "tokens" | "cost" | "budget";
/** What follows an alert of the watch; telling is always done. */
export type VerdictPolicy = "notify" | "interrupt" | "stop";

/** More than any model reads at once. It is kept in the intent, which everybody who looks at the run reads. */
export const PROMPT_BYTES = 1_048_576;

/** Who has claimed a task. */
export interface TaskClaim {
  task: TaskId;
  /** An agent, or the name that a person gave; null when nobody has it (any more). */
  holder: string | null;
  /** Higher with each holder: what is done under a lower one is out of date. */
  term: number;
  since: string | null;
  ttl_ms: number | null;
}

/** task.json */
export interface TaskFact {
  v: 1;
  task: TaskId;
  description: string;
  created_at: string;
  priority?: "low" | "normal" | "high" | "urgent";
  labels?: string[];
  /** What should exist when the task is done. */
  deliverables?: string[];
  constraints?: string[];
  /** Files worth reading first. */
  files?: string[];
  /** Live agents that may work on it at once. */
  max_agents?: number;
  /** What is done beside telling when an agent is blocked or off track for sure. */
  on_verdict?: VerdictPolicy;
  /** The name of its archive folder, where it is not `archive`. */
  archive_dir?: string;
  [more: string]: unknown;
}

/** intent.json */
export interface IntentFact {
  v: 1;
  agent: AgentId;
  task: TaskId;
  run: number;
  nonce: string;
  boot_id: string;
  pid_ns: string;
  created_at: string;
  /** The same moment by the clock of this boot, which is never set. */
  created_mono_ms: number;
  driver: string;
  role: string | null;
  name: string | null;
  parent: AgentId | null;
  depth: number;
  argv: string[];
  cwd: string;
  /** What the caller asked for; the agent reads it with its task around it (see `stdin`). */
  prompt: string | null;
  stdin: string | null;
  model: string | null;
  permission: Permission;
  /** The CLI's session: the one this run goes on with, or the id that we chose for a new one. */
  session: string | null;
  resume: boolean;
  interactive: boolean;
  /** Ids of messages to earlier runs that are part of `prompt`. */
  messages?: string[];
  /** Further arguments for the driver's CLI. */
  args: string[];
  /** Variables of this file are in the run's environment; their values are not kept here. */
  env_file: string | null;
  /** Its own git worktree; the folder in which it works is this or below it. */
  worktree: string | null;
  /** Where the worktree comes from. */
  git?: GitOrigin | null;
  labels: string[];
  /** Started by the queue, when there is room. */
  queued: boolean;
  /** With `queued`: asked to wait until fewer than so many run. Whoever gives it its turn may allow fewer. */
  max_running?: number;
  /** SHA-256 of the value that lets the agent act as itself. */
  capability: string;
  /** 0 means no limit. */
  limits: { output_bytes: number; wall_ms: number; idle_ms: number; tokens: number; cost_usd: number };
  limit_policy: Config["limit_policy"];
  disk: { floor_bytes: number; policy: Config["disk_policy"] };
  sync: Config["sync"];
  grace_ms: number;
  tier: Tier;
  /** What it says goes to the journal, each turn as it ends. */
  journal?: "turns";
  /** The folder in which its CLI keeps its sessions, by the run's environment; missing where nothing is read there. */
  sessions?: string;
  /** False: it is not given midwatch's MCP server. */
  mcp?: false;
}

export interface GitOrigin {
  /** The common git folder of the repository. */
  repository: string;
  /** The commit that the agent began with. */
  base: string;
  branch: string;
}

/** worktree.json: written before the worktree is made, so that one whose launcher died is found. */
export interface WorktreeFact extends GitOrigin {
  v: 1;
  path: string;
  /** What it got a copy of beside what git holds; of no interest to a diff or a rescue. */
  copied: { path: string; sha256: string }[];
  made_at: string;
}
