/**
 * Every path of docs/formats.md. Paths are made here and nowhere else, from ids that were validated (the branded types),
 * so no text from outside ever becomes part of one. All are absolute.
 */
import { join } from "node:path";
import type { AgentId, OriginId, TaskId } from "../core/ids.ts";
import { ARCHIVE_DIR, isAgentId, isArchiveName, parseRegisterKey } from "../core/ids.ts";
import { readJson } from "./replace.ts";

/** In a run's folder. */
export const SECRETS = "secrets.json";

export interface Layout {
  root: string;
  /** Which workspace this is; the state folder of its user knows the id. */
  workspaceFact: string;
  registry: string;
  events: string;
  eventsError: string;
  communication: string;
  /** Older interactions, rendered. */
  archive: string;
  /** How far the snapshot has come; made again from events.log when it is missing. */
  snapshotState: string;
  snapshotLock: string;
  /** A view of what is not at the remote yet. */
  eventsOffline: string;
  sync: SyncPaths;
  /** Alerts that could not be delivered. */
  deadAlerts: string;
  /** Of the project, beside the workspace. */
  scripts: string;
  leases: string;
  /** Opens the HTTP door. */
  httpToken: string;
  /** Where a server listens now. */
  httpServer: string;
  active: string;
  /** What prune took away, for a while. */
  trash: string;
  /** That people were told of retention by itself, where they did not expect it. */
  retention: string;
  /** One git worktree for each agent that has its own, by its id. */
  worktrees: string;
  worktree(agent: AgentId): string;
  /** Where a register of the journal is kept; throws BAD_ID for what is no key of one. */
  register(key: string): string;
  /** `agent-<id>.checkpoint` */
  checkpoint(agent: AgentId): string;
  /** `active/<agent>.<run>` */
  activeMark(agent: AgentId, run: number): string;
  /** Empty files that are there while somebody holds them (disk/lock.ts). */
  locks: { run(agent: AgentId, run: number): string; opinion(agent: AgentId): string; prune: string };
  task(task: TaskId): TaskPaths;
  agent(task: TaskId, agent: AgentId): AgentPaths;
  run(task: TaskId, agent: AgentId, run: number): RunPaths;
}

/** Of `midwatch sync`; a workspace that was never synced has no such folder. */
interface SyncPaths {
  dir: string;
  /** The name under which this workspace's events go out. */
  origin: string;
  /** One file for each origin, this one's too; they only grow. */
  events: string;
  file(origin: OriginId): string;
  /** A bare repository of ours; made again when it is missing. */
  git: string;
  /** How the last sync went. */
  state: string;
  exportLock: string;
  roundLock: string;
  /** What the branch shows to people, and how far its rendering has come. */
  view: Pick<Layout, "communication" | "archive" | "snapshotState" | "snapshotLock"> & { dir: string };
}

interface TaskPaths {
  dir: string;
  fact: string;
  /** AGENT_REGISTRY.json: a view, never read back. */
  view: string;
  logs: string;
  runs: string;
  archive: string;
  progressDir: string;
  findingsDir: string;
}

/** Files of an agent that belong to its newest run, or to all of them. */
interface AgentPaths {
  prompt: string;
  log: string;
  stderr: string;
  index: string;
  deploy: string;
  progress: string;
  findings: string;
  summaries: string;
  latestSummary: string;
  summaryHistory: string;
  /** What a model said last, how far it was given the log, and what it cost in the last hour. */
  secondOpinion: string;
  /** `runs/<agent>`; one numbered folder for each run, or one numbered file when it is sealed. */
  runs: string;
  /** What its worktree was made from. */
  worktree: string;
  /** It is there while a person wants the agent to stay. */
  pinned: string;
}

export interface RunPaths {
  /** Whose paths these are. */
  of: { task: TaskId; agent: AgentId; run: number };
  dir: string;
  /** All facts of it in one file, once it has ended and was cleaned up. */
  sealed: string;
  claim: string;
  intent: string;
  start: string;
  stop: string;
  hold: string;
  limit: string;
  exit: string;
  stuck: string;
  /** It is there while the agent has reported that it is done, so that its keeper brings back whoever ends it. */
  reported: string;
  done: string;
  cleanup: string;
  members: string;
  /** How long it has run, for a keeper that takes over. */
  ran: string;
  /** The claim of a keeper that took over. */
  adopt: string;
  ballast: string;
  /** Fingerprints of the secret values in its environment. */
  secrets: string;
  /** What `worktree_setup` printed. */
  setup: string;
  /** Messages to the agent, and what became of them. */
  messages: string;
  /** Which conversation of the journal its turns are. */
  turns: string;
  /** The FIFO that an interactive run reads from. */
  input: string;
  /** When it is there, the keeper ends the agent's input. */
  inputClosed: string;
  /** Where this run's files are once the next run exists. */
  archivedLog: string;
  archivedStderr: string;
  archivedIndex: string;
  /** Where its agent's reports are once they were archived. */
  archivedProgress: string;
  archivedFindings: string;
}

export function layout(root: string): Layout {
  const taskDir = (task: TaskId): string => `${root}/${task}`;
  const archives = new Map<string, string>();
  // Read once: a task keeps the name that it was made with, whoever looks and whatever is configured by then.
  const archiveOf = (dir: string): string => {
    const known = archives.get(dir) ?? archiveIn(dir);
    if (known !== undefined) archives.set(dir, known);
    return known ?? `${dir}/${ARCHIVE_DIR}`;
  };
  return {
    root,
    workspaceFact: join(root, "workspace.json"),
    registry: join(root, "midwatch.db"),
    events: join(root, "events.log"),
    eventsError: join(root, "events.error.log"),
    communication: join(root, "communication.md"),
    archive: join(root, "archive.md"),
    snapshotState: join(root, "snapshot.state"),
    snapshotLock: join(root, "snapshot.lock"),
    eventsOffline: join(root, "events.offline.log"),
    sync: syncPaths(join(root, "sync")),
    deadAlerts: join(root, "alerts.dead.jsonl"),
    scripts: join(root, "..", "scripts"),
    leases: join(root, "leases"),
    httpToken: join(root, "http-token"),
    httpServer: join(root, "http.json"),
    active: join(root, "active"),
    trash: join(root, "trash"),
    retention: join(root, "retention.json"),
    worktrees: join(root, "worktrees"),
    worktree: (agent) => join(root, "worktrees", agent),
    register: (key) => join(root, parseRegisterKey(key)),
    checkpoint: (agent) => join(root, `agent-${agent}.checkpoint`),
    locks: {
      run: (agent, run) => `${root}/locks/run-${agent}.${run}`,
      opinion: (agent) => `${root}/locks/opinion-${agent}`,
      prune: `${root}/locks/prune`,
    },
    activeMark: (agent, run) => `${root}/active/${agent}.${run}`,
    task: (task) => taskPaths(taskDir(task), archiveOf),
    agent: (task, agent) => agentPaths(taskDir(task), agent),
    run: (task, agent, run) => runPaths({ task, agent, run }, taskDir(task), archiveOf),
  };
}

/** The agent and run that a name in `active/` (or a keeper's argument) stands for; undefined for any other name. */
export function parseActiveMark(name: string): { agent: AgentId; run: number } | undefined {
  const match = /^([^.]+)\.([1-9]\d{0,8})$/.exec(name);
  const agent = match?.[1];
  return isAgentId(agent) ? { agent, run: Number(match?.[2]) } : undefined;
}

function syncPaths(dir: string): SyncPaths {
  const events = join(dir, "events");
  const view = join(dir, "view");
  return {
    dir,
    origin: join(dir, "origin.json"),
    events,
    file: (origin) => join(events, `${origin}.jsonl`),
    git: join(dir, "git"),
    state: join(dir, "state.json"),
    exportLock: join(dir, "export.lock"),
    roundLock: join(dir, "round.lock"),
    view: {
      dir: view,
      communication: join(view, "communication.md"),
      archive: join(view, "archive.md"),
      snapshotState: join(view, "snapshot.state"),
      snapshotLock: join(view, "snapshot.lock"),
    },
  };
}

/** Made by hand, not by `join`: a list of thousands of agents asks for these again and again. */
function taskPaths(dir: string, archiveOf: (dir: string) => string): TaskPaths {
  return {
    dir,
    get archive() {
      return archiveOf(dir);
    },
    fact: `${dir}/task.json`,
    view: `${dir}/AGENT_REGISTRY.json`,
    logs: `${dir}/logs`,
    runs: `${dir}/runs`,
    progressDir: `${dir}/progress`,
    findingsDir: `${dir}/findings`,
  };
}

// Not by `join`: these are made for each run and each look, and their parts are known to need no tidying.
function agentPaths(dir: string, agent: AgentId): AgentPaths {
  return {
    prompt: `${dir}/agent_prompt_${agent}.txt`,
    log: `${dir}/logs/${agent}_stream.jsonl`,
    stderr: `${dir}/logs/${agent}_stderr.log`,
    index: `${dir}/logs/${agent}_stream.idx`,
    deploy: `${dir}/logs/deploy_${agent}.json`,
    progress: `${dir}/progress/${agent}_progress.jsonl`,
    findings: `${dir}/findings/${agent}_findings.jsonl`,
    summaries: `${dir}/summaries/${agent}`,
    latestSummary: `${dir}/summaries/${agent}/latest_summary.json`,
    summaryHistory: `${dir}/summaries/${agent}/summary_history.jsonl`,
    secondOpinion: `${dir}/summaries/${agent}/second_opinion.json`,
    runs: `${dir}/runs/${agent}`,
    worktree: `${dir}/runs/${agent}/worktree.json`,
    pinned: `${dir}/runs/${agent}/pinned.json`,
  };
}

/** Undefined while nothing says which: the task may be about to be made. */
function archiveIn(dir: string): string | undefined {
  const fact = readJson<{ archive_dir?: unknown }>(`${dir}/task.json`).value;
  if (fact === undefined) return undefined;
  return `${dir}/${isArchiveName(fact.archive_dir) ? fact.archive_dir : ARCHIVE_DIR}`;
}

function runPaths(of: RunPaths["of"], dir: string, archiveOf: (dir: string) => string): RunPaths {
  const { agent, run } = of;
  const at = `${dir}/runs/${agent}/${run}`;
  const archived = (name: string): string => `${archiveOf(dir)}/${agent}_${name}`;
  return {
    of,
    dir: at,
    sealed: `${at}.json`,
    claim: `${at}/claim`,
    intent: `${at}/intent.json`,
    start: `${at}/start.json`,
    stop: `${at}/stop.json`,
    hold: `${at}/hold.json`,
    limit: `${at}/limit.json`,
    turns: `${at}/turns.json`,
    exit: `${at}/exit.json`,
    stuck: `${at}/stuck.json`,
    reported: `${at}/reported`,
    done: `${at}/done.json`,
    cleanup: `${at}/cleanup.json`,
    members: `${at}/members`,
    ran: `${at}/ran`,
    adopt: `${at}/adopt.json`,
    ballast: `${at}/ballast`,
    secrets: `${at}/${SECRETS}`,
    setup: `${at}/setup.log`,
    messages: `${at}/messages.jsonl`,
    input: `${at}/input`,
    inputClosed: `${at}/input.closed`,
    get archivedLog() {
      return archived(`stream.${run}.jsonl`);
    },
    get archivedStderr() {
      return archived(`stderr.${run}.log`);
    },
    get archivedIndex() {
      return archived(`stream.${run}.idx`);
    },
    get archivedProgress() {
      return archived(`progress.${run}.jsonl`);
    },
    get archivedFindings() {
      return archived(`findings.${run}.jsonl`);
    },
  };
}
