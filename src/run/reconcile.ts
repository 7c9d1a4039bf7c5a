/**
 * Brings the registry in line with the facts. Looks at the runs in `active/` and at rows that claim to be alive, never at
 * the whole workspace: the cost does not grow with history. Cleaning up after runs that ended unseen is bounded too: nobody
 * waits for housekeeping that they did not ask for.
 */
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { watchOrders } from "../budget/watched.ts";
import { throwIfExhausted } from "../core/errors.ts";
import { type AgentId, isTaskId } from "../core/ids.ts";
import { monoMs } from "../core/time.ts";
import { removeFile } from "../disk/inside.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { type Facts, isElsewhere, isHere, livingAdopter, readFacts } from "../facts/facts.ts";
import { unknownAgent } from "../facts/folders.ts";
import type { KnownFacts } from "../facts/known-facts.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { agentRow, runRow, stat } from "../facts/record.ts";
import { isDamaged, isLaunchOverdue } from "../facts/state.ts";
import { trackedFiles } from "../facts/tracked.ts";
import { writeView } from "../facts/view.ts";
import { witnessed } from "../facts/witness.ts";
import { type CleanupOptions, cleanUp } from "../files/cleanup.ts";
import { forgetMessages } from "../messages/kept-messages.ts";
import { hasKeeper } from "../process/identity.ts";
import { type Order, scanMembers, startKeeper } from "../process/keeper.ts";
import type { Listed } from "../registry/registry.ts";
import type { Streams } from "../stream/streams.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, catchUp, type RunName, withReader } from "../workspace/context.ts";
import { isOurs } from "../workspace/trust.ts";
import { undoWorktree } from "../worktree/retire-worktree.ts";
import { giveUp } from "./launch.ts";
import { commonOrders } from "./launch-plan.ts";
import {
  afterError,
  doubts,
  ENDING_MS,
  ENDING_OTHERS_MS,
  isAdoptable,
  isForgotten,
  isLeft,
  OTHERS_MS,
  settling,
  unbornStep,
} from "./reconcile-plan.ts";
import { remakeFacts } from "./remake.ts";
import { carriedBy, leastPermission } from "./rights-plan.ts";

export interface ReconcileOptions {
  /** Monotonic. */
  nowMs?: number;
  /** Runs of these agents are always finished: the caller asked about them. */
  of?: readonly AgentId[];
  /** Finish all of them, however long it takes. */
  everything?: boolean;
  /** Also after runs with a large log, which may take minutes to read and to pack. */
  large?: boolean;
  /** `agent.run` of those that the caller has just seen to be gone: nothing that has no process left can get one. */
  gone?: ReadonlySet<string>;
  /** What the caller's last call has read. */
  known?: KnownFacts;
  /** What the caller has read of the runs' output. */
  streams?: Streams;
}

/** Every run that is not over, with its state read from disk and process table just now. */
export async function reconcile(context: Context, options: ReconcileOptions = {}): Promise<Observed[]> {
  const { layout } = context;
  const { nowMs = monoMs(), of = [], everything = false } = options;
  const ours = isOurs(context);
  let spentMs = 0;
  const known = withReader(context, (registry) => registry.list());
  const listed = new Map(known.map((entry) => [`${entry.run.agent}.${entry.run.run}`, entry]));
  const runs = new Map<string, RunName>();
  for (const [name, { agent, run }] of listed) runs.set(name, { task: agent.task, agent: agent.id, run: run.run });
  for (const active of activeRuns(context, runs)) runs.set(`${active.agent}.${active.run}`, active);
  const observed: Observed[] = [];
  const unborn: RunName[] = [];
  const isAsked = (agent: AgentId): boolean => everything || of.includes(agent);
  for (const [name, one, seen] of await look(context, runs, listed, isAsked, options, nowMs)) {
    const { task, agent, run } = one;
    const paths = layout.run(task, agent, run);
    let facts = seen;
    const entry = listed.get(name);
    const step = unbornStep(facts, entry?.run, nowMs, () => markedMs(context, one));
    const isGone = (): boolean => !hasKeeper(name) && !stat(paths.dir) && !stat(paths.sealed);
    const gone = ours && (step === "drop" || (step === "drop if gone" && isGone()));
    const nonce = entry?.run.nonce ?? "";
    const late = ours && step === "give up";
    if (gone || (late && giveUp(context, { ...one, nonce }, "no intent within 10 s"))) unborn.push(one);
    if (step !== undefined) continue;
    const asked = isAsked(agent);
    let left = isLeft(facts, asked, spentMs, options.large);
    if (!left && ours) {
      const begun = performance.now();
      const how = { waitMs: asked ? undefined : OTHERS_MS, streams: options.streams };
      ({ facts, left } = await finish(context, one, facts, nowMs, how));
      spentMs += performance.now() - begun;
    }
    const row = runRow(layout, task, agent, run, facts, true);
    if (entry?.run.nonce) row.nonce = entry.run.nonce; // The one in its facts may be another's.
    // How an agent CLI ended stands in its stream, which was not read yet.
    if (left && facts.intent?.driver !== "command") row.outcome = null;
    observed.push({ task, agent, run, facts, row, left });
  }
  options.known?.keep(new Set(observed.map(({ task, agent, run }) => layout.run(task, agent, run).dir)));
  findMembers(context, observed);
  if (!ours) return observed; // Nothing in it is taken up, given up or cleaned up.
  await Promise.all(observed.map(({ facts, row }) => adopt(context, facts, row.nonce)));
  for (const one of unborn) await undoWorktree(context, one); // Its launcher died over it; nobody ever worked in it.
  // A launcher may have come as far as an intent since; then it tells the registry what became of it.
  const never = unborn.filter(({ task, agent, run }) => !stat(layout.run(task, agent, run).intent));
  settle(context, observed, listed, never);
  return observed;
}

/** The facts of each run as far as the kernel agrees; one that nobody could look at stays as it is, and is left out. */
async function look(
  context: Context,
  runs: ReadonlyMap<string, RunName>,
  listed: ReadonlyMap<string, Listed>,
  isAsked: (agent: AgentId) => boolean,
  { known, gone }: ReconcileOptions,
  nowMs: number,
): Promise<[string, RunName, Facts][]> {
  const seen = [...runs].map(async ([name, one]): Promise<[string, RunName, Facts] | undefined> => {
    const paths = context.layout.run(one.task, one.agent, one.run);
    let facts = known?.read(paths) ?? readFacts(paths);
    const entry = listed.get(name);
    const remade = isOurs(context) && isForgotten(facts, entry, nowMs) ? remakeFacts(context, entry) : false;
    if (remade === undefined) return undefined;
    if (remade) facts = readFacts(paths);
    const until = performance.now() + (isAsked(one.agent) ? ENDING_MS : ENDING_OTHERS_MS);
    for (; facts.ending && performance.now() < until; facts = readFacts(paths)) await sleep(1);
    if (gone?.has(name)) return [name, one, facts];
    const { facts: agreed, members } = await witnessed(context, one, facts, entry?.run.nonce);
    return members === null ? undefined : [name, one, agreed];
  });
  return (await Promise.all(seen)).filter((one) => one !== undefined);
}

/** What is overdue is given up, what has ended is cleaned up. One run that cannot be must not hide the others. */
async function finish(
  context: Context,
  name: RunName,
  seen: Facts,
  nowMs: number,
  options: CleanupOptions,
): Promise<Pick<Observed, "facts" | "left">> {
  let facts = seen;
  try {
    if (facts.intent && isLaunchOverdue(facts, nowMs) && giveUp(context, facts.intent, "no keeper within 10 s"))
      facts = readFacts(context.layout.run(name.task, name.agent, name.run));
    if (!facts.cleanup && !facts.unreadable && hasEnded(facts))
      facts = { ...facts, cleanup: await cleanUp(context, name, facts, options) };
  } catch (error) {
    const passed = afterError(error, facts);
    if (!passed) throw error;
    return { facts, ...passed };
  }
  return { facts, left: false };
}

/** By the monotonic clock. */
function markedMs({ layout }: Context, { agent, run }: RunName): number | undefined {
  const mark = stat(layout.activeMark(agent, run));
  return mark && mark.mtimeMs - Date.now() + monoMs();
}

/** Who of the lost lives, as far as can be seen from here. */
export function findMembers({ layout, config }: Context, runs: readonly Omit<Observed, "left">[]): void {
  const here = runs.filter(({ facts, row }) => row.phase === "lost" && (isHere(facts) || facts.refuted !== null));
  const looks = scanMembers(
    layout.root,
    here.map(({ task, agent, run, row }) => ({ nonce: row.nonce, dir: layout.run(task, agent, run).dir })),
    config.scan_timeout,
  );
  for (const [i, { row }] of here.entries())
    row.alive = looks[i]?.members?.map(({ pid, name }) => ({ pid, name })) ?? null;
}

/** A run whose keeper was killed gets another: it takes up index, sync and guards, and can stop the run with proof. */
export async function adopt(
  context: Context,
  facts: Facts,
  nonce: string,
  elsewhere: boolean = isElsewhere(facts),
): Promise<void> {
  const { layout, env, trust } = context;
  const { intent } = facts;
  if (!intent || !isAdoptable(facts, livingAdopter(facts) !== undefined, elsewhere)) return;
  // An answer with an error means that another process was faster, or the log is gone; the facts will tell.
  const name = `${intent.agent}.${intent.run}`;
  // What it may hand on its first keeper knew; its intent it may have changed since.
  const rights = { ...carriedBy(layout.root, intent), permission: leastPermission(["ask", intent.permission]) };
  const again: Order[] = isDamaged(facts.damaged, "done.json") ? [["done", "damaged"]] : [];
  const orders = commonOrders(layout, intent, trust.state.folder("later"));
  await startKeeper("adopt", name, nonce, [...orders, ...again, ...watchOrders(context, intent)], env, rights);
}

function settle(
  context: Context,
  observed: readonly Observed[],
  listed: ReadonlyMap<string, Listed>,
  dropped: readonly RunName[],
): void {
  // Its launcher may have come as far as an intent since the look, and have told the registry.
  const isUnborn = ({ task, agent, run }: RunName): boolean => !readFacts(context.layout.run(task, agent, run)).intent;
  const unborn = dropped.filter(isUnborn);
  const { put, over, views, unheard } = withReader(context, (registry) => {
    const found = settling(observed, listed, ({ agent, run }) => registry.hasRun(agent, run));
    const isUnheard = ({ facts, agent }: Observed): boolean => !facts.intent && registry.get(agent) === undefined;
    return { ...found, unheard: found.put.filter(isUnheard) };
  });
  audit(context, doubts(observed, listed));
  if (put.length + unborn.length === 0) return;
  const told = catchUp(context, (registry) => {
    registry.putRuns(
      put.map(({ row }) => row),
      [
        ...put.flatMap(({ facts }) => (facts.intent ? [agentRow(facts.intent)] : [])),
        ...unheard.map(({ task, agent }) => unknownAgent(task, agent)),
      ],
    );
    for (const { agent, run } of unborn) registry.deleteRun(agent, run);
    for (const one of over) registry.putFiles(one.agent, one.run, trackedFiles(context.layout, one));
  });
  if (!told) return;
  for (const one of over) forgetMessages(context, one, one.facts);
  for (const { agent, run } of [...over, ...unborn])
    removeFile(context.layout.root, context.layout.activeMark(agent, run));
  for (const task of views) writeView(context, task);
}

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
