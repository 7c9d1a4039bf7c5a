/**
 * Brings the registry in line with the facts. Looks at the runs in `active/` and at rows that claim to be alive, never at
 * the whole workspace: the cost does not grow with history. Cleaning up after runs that ended unseen is bounded too: nobody
 * waits for housekeeping that they did not ask for.
 */
import { readdirSync } from "node:fs";
import { type ErrorCode, MidwatchError, throwIfExhausted } from "../core/errors.ts";
import { type AgentId, isTaskId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { monoMs } from "../core/time.ts";
import { removeFile } from "../disk/inside.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { type Facts, isHere, readFacts } from "../facts/facts.ts";
import type { KnownFacts } from "../facts/known-facts.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { agentRow, runRow, stat } from "../facts/record.ts";
import { isLaunchOverdue, isOverdue } from "../facts/state.ts";
import { trackedFiles } from "../facts/tracked.ts";
import { writeView } from "../facts/view.ts";
import { cleanUp } from "../files/cleanup.ts";
import { hasKeeper } from "../process/identity.ts";
import { scanMembers } from "../process/keeper.ts";
import type { RunRow } from "../registry/registry.ts";
import type { Streams } from "../stream/streams.ts";
import { type Context, catchUp, type RunName, withReader } from "../workspace/context.ts";
import { undoWorktree } from "../worktree/retire-worktree.ts";
import { adopt } from "./adopt.ts";
import { giveUp } from "./launch.ts";
import { isForgotten, remakeFacts } from "./remake.ts";

export interface ReconcileOptions {
  /** Monotonic. */
  nowMs?: number;
  /** Runs of these agents are always finished: the caller asked about them. */
  of?: readonly AgentId[];
  /** Finish all of them, however long it takes. */
  everything?: boolean;
  /** Also after runs with a large log, which may take minutes to read and to pack. */
  large?: boolean;
  /** What the caller's last call has read. */
  known?: KnownFacts;
  /** What the caller has read of the runs' output. */
  streams?: Streams;
}

/** What a call spends at most on cleaning up after runs that it was not asked about; telling registry and views takes as long again. */
const OTHERS_MS = 100;
const OTHERS_BYTES = 16 << 20;

/** Every run that is not over, with its state read from disk and process table just now. */
export async function reconcile(context: Context, options: ReconcileOptions = {}): Promise<Observed[]> {
  const { layout } = context;
  const { nowMs = monoMs(), of = [], everything = false } = options;
  let spentMs = 0;
  const known = withReader(context, (registry) => registry.list());
  const runs = new Map<string, RunName>();
  for (const { agent, run } of known)
    runs.set(`${agent.id}.${run.run}`, { task: agent.task, agent: agent.id, run: run.run });
  for (const active of activeRuns(context, runs)) runs.set(`${active.agent}.${active.run}`, active);
  const rows = new Map(known.map(({ run }) => [`${run.agent}.${run.run}`, run]));
  const listed = new Map(known.map((entry) => [`${entry.run.agent}.${entry.run.run}`, entry]));
  const observed: Observed[] = [];
  const unborn: RunName[] = [];
  for (const [name, one] of runs) {
    const { task, agent, run } = one;
    const paths = layout.run(task, agent, run);
    let facts = options.known?.read(paths) ?? readFacts(paths);
    const entry = listed.get(name);
    const remade = isForgotten(facts, entry) ? remakeFacts(context, entry) : false;
    if (remade === undefined) continue; // Nobody could look: it stays as it is.
    if (remade) facts = readFacts(paths);
    if (!facts.intent && (!facts.claim || facts.claim.by === "launcher")) {
      if (facts.claim || isUnborn(context, one, rows.get(name), nowMs)) unborn.push(one);
      continue;
    }
    const asked = everything || of.includes(agent);
    const tooLarge = !options.large && (facts.done?.log_bytes ?? 0) > OTHERS_BYTES;
    let left = hasEnded(facts) && !asked && (spentMs > OTHERS_MS || tooLarge);
    if (!left) {
      const begun = performance.now();
      ({ facts, left } = await finish(context, one, facts, {
        nowMs,
        waitMs: asked ? undefined : OTHERS_MS,
        streams: options.streams,
      }));
      spentMs += performance.now() - begun;
    }
    const row = runRow(layout, task, agent, run, facts, true);
    // How an agent CLI ended stands in its stream, which was not read yet.
    if (left && facts.intent?.driver !== "command") row.outcome = null;
    observed.push({ task, agent, run, facts, row, left });
  }
  options.known?.keep(new Set(observed.map(({ task, agent, run }) => layout.run(task, agent, run).dir)));
  await takeUpLost(context, observed);
  for (const one of unborn) await undoWorktree(context, one); // Its launcher died over it; nobody ever worked in it.
  settle(context, observed, rows, unborn);
  return observed;
}

/** Another process has it in hands, or nothing can be written now: whoever looks next tries again. */
const LATER: readonly ErrorCode[] = ["LOCK_BUSY", "NOT_WRITABLE", "DISK_FULL"];

interface Finish {
  nowMs: number;
  /** How long to wait for another process that has the run in hands; undefined is long. */
  waitMs: number | undefined;
  streams: Streams | undefined;
}

/** What is overdue is given up, what has ended is cleaned up. One run that cannot be must not hide the others. */
async function finish(
  context: Context,
  name: RunName,
  seen: Facts,
  { nowMs, ...options }: Finish,
): Promise<{ facts: Facts; left: boolean }> {
  let facts = seen;
  try {
    if (facts.intent && isLaunchOverdue(facts, nowMs) && giveUp(context, facts.intent, "no keeper within 10 s"))
      facts = readFacts(context.layout.run(name.task, name.agent, name.run));
    if (!facts.cleanup && hasEnded(facts)) facts = { ...facts, cleanup: await cleanUp(context, name, facts, options) };
  } catch (error) {
    if (!(error instanceof MidwatchError)) throw error;
    if (LATER.includes(error.code)) return { facts, left: hasEnded(facts) };
    if (error.code !== "UNSAFE_PATH") throw error; // Its folder was made unusable: there is nothing to clean up in it.
  }
  return { facts, left: false };
}

/**
 * Reserved, but its launcher has not come as far as an intent in time: the claim sees to it that it never will. Or started,
 * and its folder was deleted: while its keeper lives, that will make it again.
 */
function isUnborn(context: Context, name: RunName, row: RunRow | undefined, nowMs: number): boolean {
  const paths = context.layout.run(name.task, name.agent, name.run);
  if (!isLate(context, name, row, nowMs)) return false;
  if (row && row.phase !== "intended") return !hasKeeper(`${name.agent}.${name.run}`) && !stat(paths.dir);
  return giveUp(context, { ...name, nonce: row?.nonce ?? "" }, "no intent within 10 s");
}

/** Without a row (the registry was deleted just then) only the mark's own time is known. */
function isLate({ layout }: Context, { agent, run }: RunName, row: RunRow | undefined, nowMs: number): boolean {
  if (row) return row.created_mono_ms === null || isOverdue(row.created_mono_ms, nowMs);
  const mark = stat(layout.activeMark(agent, run));
  return mark !== undefined && isOverdue(mark.mtimeMs, Date.now() + nowMs - monoMs());
}

async function takeUpLost(context: Context, observed: readonly Observed[]): Promise<void> {
  const lost = observed.filter(({ row }) => row.phase === "lost");
  const here = lost.filter(({ facts }) => isHere(facts));
  const members = scanMembers(
    context.layout.root,
    here.map(({ task, agent, run, row }) => ({ nonce: row.nonce, dir: context.layout.run(task, agent, run).dir })),
  );
  for (const [i, { row }] of here.entries()) row.alive = members[i]?.map(({ pid, name }) => ({ pid, name })) ?? null;
  await Promise.all(lost.map(({ facts }) => adopt(context, facts)));
}

function settle(
  context: Context,
  observed: readonly Observed[],
  rows: ReadonlyMap<string, RunRow>,
  unborn: readonly RunName[],
): void {
  const changed = observed.filter(
    (one) => !one.left && (rows.get(keyOf(one))?.phase !== one.row.phase || one.row.phase === "lost"),
  );
  // Of what is left the registry hears too, so that it counts as ended and is found by its id. Its mark in `active/` stays.
  const left = withReader(context, (registry) =>
    observed.filter((one) => one.left && (rows.has(keyOf(one)) || !registry.hasRun(one.agent, one.run))),
  );
  if (changed.length + left.length + unborn.length === 0) return;
  const told = catchUp(context, (registry) => {
    const put = [...changed, ...left];
    registry.putRuns(
      put.map(({ row }) => row),
      put.flatMap(({ facts }) => (facts.intent ? [agentRow(facts.intent)] : [])),
    );
    for (const { agent, run } of unborn) registry.deleteRun(agent, run);
    for (const { task, agent, run, row } of changed) {
      if (isOver(row)) registry.putFiles(agent, run, trackedFiles(context.layout, { task, agent, run }));
    }
  });
  if (!told) return;
  const over = changed.filter(({ row }) => isOver(row));
  for (const { agent, run } of [...over, ...unborn])
    removeFile(context.layout.root, context.layout.activeMark(agent, run));
  for (const task of new Set(changed.map(({ task: id }) => id))) writeView(context, task);
}

const keyOf = ({ agent, run }: RunName): string => `${agent}.${run}`;

/** The runs named in `active/` that are not known; the mark holds the run's folder, so that no search is needed. */
function activeRuns({ layout }: Context, known: ReadonlyMap<string, RunName>): RunName[] {
  let names: string[];
  try {
    names = readdirSync(layout.active);
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
  return names.flatMap((name) => {
    if (known.has(name)) return [];
    const mark = parseActiveMark(name);
    const task = mark && readText(layout.activeMark(mark.agent, mark.run))?.split("/")[0];
    return mark && isTaskId(task) ? [{ ...mark, task }] : [];
  });
}
