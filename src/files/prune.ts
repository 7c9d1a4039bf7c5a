/**
 * Prune: ended agents that are old, or too much, go to the trash with everything that is theirs, and from there for good after a
 * while. Until then they can be brought back. One process at a time.
 */
import { join } from "node:path";
import { formatDuration } from "../core/duration.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { type AgentId, quote, type TaskId } from "../core/ids.ts";
import { formatSize } from "../core/size.ts";
import { iso } from "../core/time.ts";
import { removeTree } from "../disk/inside.ts";
import { alone } from "../disk/lock.ts";
import { rebuildFrom } from "../facts/folders.ts";
import { writeView } from "../facts/view.ts";
import type { Listed } from "../registry/registry.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, withWriter } from "../workspace/context.ts";
import { retireWorktree } from "../worktree/retire-worktree.ts";
import { type Choice, choicesOf, whyGone } from "./prune-plan.ts";
import { RESTORED_MS, rest } from "./retention-rest.ts";
import { heldLogs, mustStay, type Survey, survey, surveySome } from "./survey.ts";
import { itemId, listTrash, type Manifest, putIntoTrash, type TrashItem, takeFromTrash } from "./trash.ts";

/** Which agents go; the configuration's age and size, unless something is named. */
export interface PruneOptions {
  olderMs?: number | undefined;
  overBytes?: number | undefined;
  dryRun?: boolean | undefined;
  progress?: ((text: string) => void) | undefined;
}

/** What became of an agent or a task that is old enough to go. */
export interface PruneRecord {
  /** Of the trash; null for what stays where it is. */
  id: string | null;
  task: TaskId | null;
  /** Null when it is a whole task. */
  agent: AgentId | null;
  /** `trash` and `delete` are what a dry run would do. */
  action: "trash" | "trashed" | "delete" | "deleted" | "restored" | "kept" | "failed";
  why: string;
  bytes: number;
  errors: string[];
}

/** Nobody asked for it: what has a failed step of its cleanup stays, for a person to look at. */
export interface Unasked {
  /** A share: of these only, and by this time (performance.now) it ends. */
  share?: { ended: readonly Listed[]; until: number };
}

const TOLD_EACH = 20;
/** A share does not wait for another process that prunes. */
const LOCK_MS = 10;

export function prune(context: Context, options: PruneOptions = {}, unasked?: Unasked): Promise<PruneRecord[]> {
  if (options.dryRun) return plan(context, options);
  const share = unasked?.share;
  const isOut = (): boolean => share !== undefined && performance.now() >= share.until;
  const act = async (): Promise<PruneRecord[]> => {
    const records = emptyTrash(context, context.config.trash_for, isOut);
    if (share === undefined) withWriter(context, (registry) => rebuildFrom(context.layout, registry));
    const now = Date.now();
    const known = share === undefined ? survey(context) : surveySome(context, share.ended);
    const { kept, choices } = await choose(context, known, options, unasked !== undefined);
    for (const [i, choice] of choices.entries()) {
      if (i > 0 && isOut()) break;
      options.progress?.(`${i + 1} of ${choices.length}: ${choice.agent ?? choice.task.task}`);
      records.push(await takeAway(context, choice, now));
    }
    const parts = choices.filter(({ agent }) => agent !== null).map(({ task }) => task.task);
    for (const task of new Set(parts)) writeView(context, task);
    tellTrashed(context, records, choices);
    return [...records, ...kept];
  };
  return underLock(context, act, share === undefined ? undefined : LOCK_MS);
}

/** Whether something in the trash has been there long enough. */
export function emptiesNow(context: Context): boolean {
  return expired(context, context.config.trash_for).length > 0;
}

/** For the loop: what has been in the trash long enough goes for good. */
export function emptyAged(context: Context): Promise<PruneRecord[]> {
  if (!emptiesNow(context)) return Promise.resolve([]);
  return underLock(context, () => emptyTrash(context, context.config.trash_for));
}

/** Brings back the last prune's, or what is named by an agent, a task or the name of its folder in the trash. */
export function undoPrune(context: Context, asked?: string): Promise<PruneRecord[]> {
  return underLock(context, () => {
    const items = listTrash(context);
    const last = items.at(-1);
    const has = ({ id, of, manifest }: TrashItem): boolean =>
      asked === id || asked === of || (manifest?.agents?.some((agent) => agent === asked) ?? false);
    const named = items.filter(has).slice(-1);
    const chosen = asked === undefined ? items.filter(({ at }) => at === last?.at) : named;
    if (chosen.length === 0) {
      const what = asked === undefined ? "The trash is empty." : `There is no ${quote(asked)} in the trash.`;
      throw new MidwatchError("NOT_FOUND_FILE", what, { hint: "`midwatch prune --dry-run` lists what is in it." });
    }
    // An agent's task may have gone later, by itself: it comes back first.
    const tasks = items.filter(({ of }) => chosen.some(({ manifest }) => manifest?.task === of));
    rest(context, RESTORED_MS);
    return bringBack(context, [...new Set([...tasks, ...chosen])]);
  });
}

function underLock<T>({ layout }: Context, act: () => T | Promise<T>, waitMs?: number): Promise<T> {
  return alone(layout, layout.locks.prune, act, waitMs);
}

async function plan(context: Context, options: PruneOptions): Promise<PruneRecord[]> {
  const { trash_for } = context.config;
  const trash = listTrash(context).map((item) =>
    item.at + trash_for <= Date.now()
      ? record(item, "delete", inTrash(context))
      : record(item, "kept", `in the trash until ${iso(item.at + trash_for)}`),
  );
  const { kept, choices } = await choose(context, survey(context), options);
  const planned = choices.map(({ task, agent, why, bytes }) => ({
    id: null,
    task: task.task,
    agent,
    action: "trash" as const,
    why,
    bytes,
    errors: [],
  }));
  return [...trash, ...planned, ...kept];
}

async function choose(
  context: Context,
  { agents, tasks, bytes }: Survey,
  options: PruneOptions,
  unasked = false,
): Promise<{ choices: Choice[]; kept: PruneRecord[] }> {
  // 0 in the configuration turns it off; asked for by a person it is every agent that has ended.
  const olderMs = options.olderMs ?? (context.config.prune_after || Number.POSITIVE_INFINITY);
  const overBytes = options.overBytes ?? (context.config.prune_over || Number.POSITIVE_INFINITY);
  const nowMs = Date.now();
  const going = new Map<AgentId, string>();
  const kept: PruneRecord[] = [];
  let left = bytes;
  const ended = agents.filter((one) => one.endedAt !== null).sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
  const held = heldLogs(context, ended);
  const living = agents.filter((one) => one.endedAt === null);
  for (const one of ended) {
    const why = whyGone(nowMs - (one.endedAt ?? 0), left, olderMs, overBytes);
    if (why === undefined) break;
    const unsettled = unasked && one.failed ? "a step of its cleanup failed" : undefined;
    const stay = unsettled ?? (await mustStay(context, one, living, held));
    if (stay !== undefined) {
      const { task, agent } = one;
      kept.push({ id: null, task, agent, action: "kept", why: stay, bytes: one.bytes, errors: [] });
      continue;
    }
    left -= one.bytes;
    going.set(one.agent, why);
  }
  const inTask = Map.groupBy(agents, ({ task }) => task);
  const choices = tasks.flatMap((task) => choicesOf(task, inTask.get(task.fact.task) ?? [], going, nowMs - olderMs));
  return { choices, kept };
}

async function takeAway(
  context: Context,
  { task, agent, agents, why, bytes, paths }: Choice,
  now: number,
): Promise<PruneRecord> {
  const id = itemId(now, agent ?? task.task);
  const base = { id, task: task.task, agent, why, bytes };
  try {
    const ids = agents.map((one) => one.agent);
    // The rows first, in one transaction that sees a start which came in between; from then on nobody starts one here.
    if (!withWriter(context, (registry) => registry.takeOut(task.task, ids, agent === null)))
      return { ...base, id: null, action: "kept", why: "an agent has been started meanwhile", errors: [] };
    // A worktree is no file of ours to keep in the trash: git takes it away, and only when all of it is in another branch.
    for (const one of ids) {
      const { action, why: stays } = await retireWorktree(context, { task: task.task, agent: one, run: 1 });
      if (action !== "kept") continue;
      withWriter(context, (registry) => rebuildFrom(context.layout, registry)); // The rows come back.
      return { ...base, id: null, action: "kept", why: `its worktree: ${stays}`, errors: [] };
    }
    const manifest: Manifest = { v: 1, agent, agents: ids, task: task.task, why, bytes, at: iso(now), task_fact: task };
    const errors = putIntoTrash(context, id, manifest, paths);
    if (errors.length > 0) {
      // Whatever stayed is still the agent's: its rows come back with the next look at the folders.
      withWriter(context, (registry) => rebuildFrom(context.layout, registry));
    }
    return { ...base, action: errors.length > 0 ? "failed" : "trashed", errors };
  } catch (error) {
    return { ...base, action: "failed", errors: [toMidwatchError(error).message] };
  }
}

/** Each by itself while they are few; else once for all of them. */
function tellTrashed(context: Context, records: readonly PruneRecord[], choices: readonly Choice[]): void {
  const gone = records.filter(({ action, id }) => id !== null && (action === "trashed" || action === "failed"));
  if (gone.length > TOLD_EACH) {
    const bytes = gone.reduce((sum, one) => sum + one.bytes, 0);
    const why = gone[0]?.why ?? "";
    const content = `${gone.length} agents and tasks are in the trash (${why}, ${formatSize(bytes)})`;
    const errors = gone.flatMap((one) => one.errors).slice(0, TOLD_EACH);
    audit(context, [
      { type: "prune.trashed", content, data: { id: gone[0]?.id, why, bytes, count: gone.length, errors } },
    ]);
    return;
  }
  audit(
    context,
    gone.map(({ id, task, agent, why, bytes, errors }) => ({
      type: "prune.trashed",
      content: `${agent ?? task} is in the trash (${why}, ${formatSize(bytes)})`,
      ...(task === null ? {} : { task }),
      ...(agent === null ? {} : { agent }),
      data: { id, why, bytes, agents: agentsOf(choices, task, agent), errors },
    })),
  );
}

function agentsOf(choices: readonly Choice[], task: TaskId | null, agent: AgentId | null): AgentId[] {
  const choice = choices.find((one) => one.task.task === task && one.agent === agent);
  return choice?.agents.map((one) => one.agent) ?? [];
}

function expired(context: Context, forMs: number): TrashItem[] {
  return listTrash(context).filter(({ at }) => at + forMs <= Date.now());
}

function emptyTrash(context: Context, forMs: number, isOut = (): boolean => false): PruneRecord[] {
  const gone: TrashItem[] = [];
  const records = expired(context, forMs).flatMap((item) => {
    if (isOut()) return [];
    const before = record(item, "deleted", inTrash(context)); // While its manifest is there.
    try {
      if (!removeTree(context.layout.root, join("trash", item.id))) return [{ ...before, why: "was gone already" }];
      gone.push(item);
      return [before];
    } catch (error) {
      return [{ ...before, action: "failed" as const, errors: [toMidwatchError(error).message] }];
    }
  });
  tell(context, "prune.deleted", gone, "deleted for good");
  return records;
}

function bringBack(context: Context, items: readonly TrashItem[]): PruneRecord[] {
  const left = takeFromTrash(context, items);
  const errorsOf = (item: TrashItem): string[] => left.get(item.id) ?? [];
  tell(
    context,
    "prune.restored",
    items.filter((item) => errorsOf(item).length === 0),
    "back from the trash",
  );
  return items.map((item) => {
    const errors = errorsOf(item);
    return { ...record(item, errors.length > 0 ? "failed" : "restored", "undo"), errors };
  });
}

const inTrash = ({ config }: Context): string => `in the trash for ${formatDuration(config.trash_for) || "no time"}`;

function record({ id, manifest }: TrashItem, action: PruneRecord["action"], why: string): PruneRecord {
  const { task = null, agent = null, bytes = 0 } = manifest ?? {};
  return { id, task, agent, action, why, bytes, errors: [] };
}

/** Each by itself while they are few; else once for all of them. */
function tell(context: Context, type: "prune.deleted" | "prune.restored", items: TrashItem[], what: string): void {
  const bytesOf = ({ manifest }: TrashItem): number => manifest?.bytes ?? 0;
  if (items.length > TOLD_EACH) {
    const bytes = items.reduce((sum, item) => sum + bytesOf(item), 0);
    const content = `${items.length} agents and tasks are ${what} (${formatSize(bytes)})`;
    audit(context, [{ type, content, data: { id: items[0]?.id, bytes, count: items.length } }]);
    return;
  }
  audit(
    context,
    items.map((item) => {
      const { task, agent } = item.manifest ?? {};
      const about = { ...(task ? { task } : {}), ...(agent ? { agent } : {}) };
      return { type, content: `${item.of} is ${what}`, ...about, data: { id: item.id, bytes: bytesOf(item) } };
    }),
  );
}
