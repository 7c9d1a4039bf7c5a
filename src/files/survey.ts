/** What the agents of a workspace take on the disk, since when they have ended, and why one of them has to stay. Reads only. */
import { join } from "node:path";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";
import { namesIn } from "../disk/inside.ts";
import { readJson } from "../disk/replace.ts";
import { readFacts } from "../facts/facts.ts";
import { readFolders } from "../facts/folders.ts";
import { hasEnded } from "../facts/observe.ts";
import { numbersIn } from "../facts/run-numbers.ts";
import { folderBytes, lstat } from "../facts/tracked.ts";
import { leases } from "../process/keeper.ts";
import type { AgentRow, Listed, RunRow } from "../registry/registry.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { mustKeepWorktree } from "../worktree/retire-worktree.ts";
import { isPinned } from "./pin.ts";

/** Paths of one question: they are the arguments of a process. */
const ASKED_AT_ONCE = 500;

export interface SurveyedAgent {
  task: TaskId;
  agent: AgentId;
  /** Null while it has not ended. */
  endedAt: number | null;
  bytes: number;
  /** Below the workspace; whatever of it exists belongs to the agent alone. */
  paths: string[];
  /** Who started it. */
  parent: AgentId | null;
  /** A step of its cleanup could not be done so far. */
  failed: boolean;
  /** A person wants it to stay. */
  pinned: boolean;
}

export interface Survey {
  agents: SurveyedAgent[];
  /** With the names in their folders of runs: agents, and what may have been one. */
  tasks: { fact: TaskFact; names: string[]; bytes: number }[];
  /** Of the whole workspace without its trash. */
  bytes: number;
}

export function survey(context: Context): Survey {
  const { agents, runs, tasks } = readFolders(context.layout);
  const runsOf = Map.groupBy(runs, ({ agent }) => agent);
  const look = looker(context);
  return {
    bytes: workspaceBytes(context),
    tasks: tasks.map(({ data }) => surveyTask(context, data as unknown as TaskFact)),
    agents: agents.map((row) => look(row, runsOf.get(row.id) ?? [])),
  };
}

/** Of some agents that the registry takes for ended, with what it knows of sizes: it costs the same however large the workspace is. */
export function surveySome(context: Context, ended: readonly Listed[]): Survey {
  const { layout } = context;
  const look = looker(context);
  const { live, bytes } = withReader(context, (registry) => ({ live: registry.list(), bytes: registry.fileBytes() }));
  const others = live.map(
    ({ agent: { id: agent, task, parent } }): SurveyedAgent => ({ task, agent, parent, endedAt: null, ...NOTHING }),
  );
  return {
    bytes,
    tasks: [...new Set(ended.map(({ agent }) => agent.task))].flatMap((task) => {
      const fact = readJson<TaskFact>(layout.task(task).fact).value;
      return fact === undefined ? [] : [surveyTask(context, { ...fact, task })];
    }),
    agents: [...ended.map(({ agent, run }) => look(agent, [run])), ...others],
  };
}

const NOTHING = { bytes: 0, paths: [], failed: false, pinned: false };

function surveyTask({ layout }: Context, fact: TaskFact): Survey["tasks"][number] {
  const { runs, dir } = layout.task(fact.task);
  return {
    fact,
    names: names(layout.root, runs),
    // Asked for only when all of it goes.
    get bytes() {
      return bytesOf(dir);
    },
  };
}

/** Looks at one agent after the other; what is in the archive of a task is read once. */
function looker(context: Context): (of: AgentRow, own: readonly RunRow[]) => SurveyedAgent {
  const { layout } = context;
  const archives = new Map<TaskId, Map<string, string[]>>();
  return ({ id: agent, task, parent }, own) => {
    const archived = archives.get(task) ?? archivedIn(context, task);
    archives.set(task, archived);
    let failed = false;
    // Every folder counts, also one whose intent cannot be read: its processes may live.
    const over = numbersIn(names(layout.root, layout.agent(task, agent).runs)).every((run) => {
      const facts = readFacts(layout.run(task, agent, run));
      failed ||= (facts.cleanup?.failures?.length ?? 0) > 0;
      return hasEnded(facts) && (run !== own.at(-1)?.run || facts.cleanup !== undefined);
    });
    const ended = own.map((row) => Date.parse(row.ended_at ?? row.created_at));
    const paths = pathsOf(context, task, agent, archived.get(agent) ?? []);
    return {
      task,
      agent,
      endedAt: over ? Math.max(...ended) : null,
      bytes: paths.reduce((sum, path) => sum + bytesOf(join(layout.root, path)), 0),
      paths,
      parent,
      failed,
      pinned: isPinned(context, { task, agent }),
    };
  };
}

/** Without its trash. */
export function workspaceBytes({ layout }: Context): number {
  return bytesOf(layout.root) - bytesOf(layout.trash);
}

/** Those whose log a process has open for writing. Asked for many at once: each question is a process. */
export function heldLogs({ layout }: Context, agents: readonly SurveyedAgent[]): Set<AgentId> {
  const logs = agents.flatMap(({ task, agent }) =>
    [layout.agent(task, agent).log, layout.agent(task, agent).stderr].map((path) => ({ agent, path })),
  );
  const held = new Set<AgentId>();
  const open = logs.filter(({ path }) => lstat(path));
  for (let i = 0; i < open.length; i += ASKED_AT_ONCE) {
    const some = open.slice(i, i + ASKED_AT_ONCE);
    for (const [n, lease] of leases(some.map(({ path }) => path)).entries())
      if (lease === "held") held.add((some[n] as (typeof some)[number]).agent);
  }
  return held;
}

/** Why an ended agent's files must not go, in words; undefined when they may. */
export async function mustStay(
  context: Context,
  { task, agent, paths, pinned }: SurveyedAgent,
  living: readonly SurveyedAgent[],
  held: ReadonlySet<AgentId>,
): Promise<string | undefined> {
  const { layout } = context;
  if (pinned) return `it is pinned; midwatch pin --off ${agent} lets it go`;
  if (held.has(agent)) return "a process has its log open for writing";
  const worktree = join(layout.worktrees, agent);
  const unsaved = lstat(worktree) ? await mustKeepWorktree(context, { task, agent, run: 1 }) : undefined;
  if (unsaved !== undefined) return `its worktree ${worktree} is kept: ${unsaved}`;
  if (paths.length === 0) return "it has no files";
  // Whom an agent may stop is decided by who started it: the way up must be there while one below lives.
  const lives = living.find((one) => one.parent === agent);
  return lives === undefined ? undefined : `${lives.agent}, which it started, has not ended`;
}

/** By agent. A name can only be one agent's: ids have no dot. With what other programs rotated in logs/. */
function archivedIn({ layout }: Context, task: TaskId): Map<string, string[]> {
  const { archive, logs } = layout.task(task);
  const found = (folder: string, pattern: RegExp): { agent: string; path: string }[] =>
    names(layout.root, folder).flatMap((name) => {
      const [, agent] = pattern.exec(name) ?? [];
      return agent === undefined ? [] : { agent, path: join(folder, name) };
    });
  const packed = [
    ...found(archive, /^\.?([^.]+)_(?:stream|stderr|progress|findings)\.[0-9]+\./),
    ...found(logs, /^([^.]+)_(?:stream\.(?:jsonl|idx)|stderr\.log)[.-]./),
  ];
  return new Map(
    [...Map.groupBy(packed, ({ agent }) => agent)].map(([agent, of]) => [agent, of.map(({ path }) => path)]),
  );
}

function pathsOf({ layout }: Context, task: TaskId, agent: AgentId, packed: readonly string[]): string[] {
  const files = layout.agent(task, agent);
  const plain = [files.prompt, files.log, files.stderr, files.index, files.deploy, files.progress, files.findings];
  // The run folders last: while they are there the agent is known, and what is left of it is found again.
  return [...plain, files.summaries, ...packed, files.runs]
    .filter((path) => lstat(path))
    .map((path) => path.slice(layout.root.length + 1));
}

function names(root: string, path: string): string[] {
  try {
    return namesIn(root, path);
  } catch {
    return []; // Not a folder of ours: nothing in it is an agent's.
  }
}

function bytesOf(path: string): number {
  const file = lstat(path);
  return (file?.isDirectory() ? folderBytes(path, Number.POSITIVE_INFINITY) : file?.size) ?? 0;
}
