/**
 * Stop: tell the keeper, wait for its proof, handle the files, report. It never throws half-way and never claims what was
 * not verified. The same code runs for one agent, for a hundred, and for one that ended long ago.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { LimitName } from "../core/intent.ts";
import { iso } from "../core/time.ts";
import type { Report, StopFact } from "../core/types.ts";
import { makeFolder } from "../disk/inside.ts";
import { replaceFastInside } from "../disk/write-inside.ts";
import { type Facts, isElsewhere, livingAdopter, livingKeeper, readFacts } from "../facts/facts.ts";
import { keepersGone, pauseUntilNews } from "../facts/keepers-gone.ts";
import { type Located, locate } from "../facts/locate.ts";
import { hasEnded } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import { tell } from "../facts/tell-keeper.ts";
import { writeView } from "../facts/view.ts";
import { type Seen, witnessed } from "../facts/witness.ts";
import { cleanUp } from "../files/cleanup.ts";
import { hasKeeper, readProcess } from "../process/identity.ts";
import { scanMembers } from "../process/keeper.ts";
import type { Streams } from "../stream/streams.ts";
import { audit } from "../workspace/audit.ts";
import { isCompanion } from "../workspace/companion.ts";
import { type Context, catchUp, withReader } from "../workspace/context.ts";
import { retireWorktree } from "../worktree/retire-worktree.ts";
import { worktreeOf } from "../worktree/worktree.ts";
import { giveUp } from "./launch.ts";
import { adopt, reconcile } from "./reconcile.ts";
import { isForgotten } from "./reconcile-plan.ts";
import { remakeFacts } from "./remake.ts";
import {
  endingOf,
  failureEvents,
  lastStep,
  leftOf,
  nextStep,
  type Tried,
  type Urged,
  whoElse,
  whoFirst,
} from "./stop-plan.ts";

const FEW = 8;

/** How to stop; nothing has to be named. */
export interface StopOptions {
  graceMs?: number | undefined;
  reason?: string | undefined;
  purge?: boolean | undefined;
  /** What becomes of log and reports; missing: as `stop_files` says of a run that midwatch ends by itself. */
  files?: "keep" | "archive" | undefined;
  /** With purge: what is only in its worktree is saved as a branch, and the worktree goes too. */
  rescue?: boolean | undefined;
  /** Agents that it started, and theirs, first. */
  tree?: boolean | undefined;
  /** It passed this limit: the outcome says so. */
  limit?: LimitName | undefined;
  /** What the caller has read of the runs' output. */
  streams?: Streams | undefined;
}

export async function stop(context: Context, agents: readonly AgentId[], options: StopOptions = {}): Promise<Report[]> {
  const tried = await stopAll(context, agents, options);
  const failed = tried.find((one) => "error" in one);
  if (failed && !tried.some((one) => "report" in one)) throw failed.error;
  const proven = tried.flatMap((one) => ("report" in one && one.report.verified ? [one.report] : []));
  await settleAll(context, agents, new Set(proven.map(({ agent, run }) => `${agent}.${run}`)));
  return tried.map((one) => ("report" in one ? one.report : failedReport(context, one.agent, one.error)));
}

async function stopAll(context: Context, agents: readonly AgentId[], options: StopOptions): Promise<Tried[]> {
  const tried: Tried[] = [];
  const below = options.tree ? agents.flatMap((agent) => descendants(context, agent)) : [];
  const first = whoFirst(below, agents);
  if (first.length > 0) tried.push(...(await stopAll(context, first, { ...options, tree: false })));
  tried.push(...(await Promise.all(agents.map((agent) => tryToStop(context, agent, options)))));
  if (!options.tree) return tried;
  const started = agents.flatMap((agent) => descendants(context, agent));
  const late = whoElse(started, tried, (agent) => !hasEnded(locate(context, agent).facts));
  if (late.length > 0) tried.push(...(await stopAll(context, late, options)));
  return tried;
}

async function tryToStop(context: Context, agent: AgentId, options: StopOptions): Promise<Tried> {
  try {
    return { report: await stopOne(context, agent, options) };
  } catch (error) {
    return { agent, error };
  }
}

/** Best effort: the receipts count, and the next command does this again. */
async function settleAll(context: Context, agents: readonly AgentId[], gone: ReadonlySet<string>): Promise<void> {
  try {
    const observed = await reconcile(context, { of: agents, gone });
    // Of who was settled just now the view tells already. Once for all others: a view has every agent of its task.
    const settled = new Set(observed.map(({ agent }) => agent));
    const rest = agents.filter((agent) => !settled.has(agent));
    const tasks = withReader(context, (registry) => rest.flatMap((agent) => registry.get(agent)?.agent.task ?? []));
    for (const task of new Set(tasks)) writeView(context, task);
  } catch {}
}

/** The receipt of a stop that failed beside others that did not: proven or not, as far as its facts can be read. */
function failedReport(context: Context, agent: AgentId, error: unknown): Report {
  const { message } = toMidwatchError(error);
  const found = locateIfPossible(context, agent);
  const done = found?.facts.done;
  const verified = done?.verified ?? false;
  return {
    agent,
    run: found?.listed.run.run ?? 0,
    verified,
    guarantee: done?.guarantee ?? null,
    outcome: null,
    exit: { code: found?.facts.exit?.code ?? null, signal: found?.facts.exit?.signal ?? null },
    processes: done?.processes ?? [],
    processes_total: done?.processes_total ?? 0,
    left: verified ? [] : [{ pid: 0, name: "", uid: 0, why: message }],
    children: done?.children ?? [],
    files:
      verified && found ? [{ path: found.paths.dir, action: "failed", bytes: null, sha256: null, error: message }] : [],
    freed_bytes: 0,
    took_ms: 0,
    already_stopped: false,
  };
}

function locateIfPossible(context: Context, agent: AgentId): Located | undefined {
  try {
    return locate(context, agent);
  } catch {
    return undefined;
  }
}

function descendants(context: Context, agent: AgentId): AgentId[] {
  const children = withReader(context, (registry) => registry.children(agent));
  return children.flatMap(({ agent: child }) => [...descendants(context, child.id), child.id]);
}

async function stopOne(context: Context, agent: AgentId, options: StopOptions): Promise<Report> {
  const begun = performance.now();
  const found = locateRemade(context, agent);
  // Also of a run that is over: a receipt is the kernel's word of now.
  const seen = await look(context, found);
  const alreadyStopped = hasEnded(seen.facts);
  let ending: Ending = { seen };
  if (!alreadyStopped) {
    try {
      ending = await endProcesses(context, found, seen.facts, options);
    } catch (error) {
      ending = { problem: toMidwatchError(error).message };
    }
  }
  const tookMs = Math.round(performance.now() - begun);
  await keepersGone(found.paths, ending.seen?.facts ?? readFacts(found.paths));
  return await report(context, found, options, { alreadyStopped, tookMs, ...ending });
}

/** Its facts as they are now, as far as the kernel agrees. */
async function look(context: Context, { paths, listed }: Located): Promise<Seen> {
  const { agent, run } = listed;
  const name = { task: agent.task, agent: agent.id, run: run.run };
  const { log, stderr } = context.layout.agent(agent.task, agent.id);
  const seen = await witnessed(context, name, readFacts(paths), run.nonce, [log, stderr]);
  if (seen.members === null) throw notSeen(agent.id);
  return seen;
}

/** What cannot be looked for is not proven to be gone, whatever its facts say. */
async function lookIfPossible(context: Context, found: Located): Promise<Seen> {
  try {
    return await look(context, found);
  } catch {
    return { facts: readFacts(found.paths), members: null, free: [] };
  }
}

function notSeen(agent: AgentId): MidwatchError {
  return new MidwatchError("KEEPER_FAILED", `The processes of ${agent} could not be looked for.`, {
    hint: "`midwatch doctor` checks the keeper.",
  });
}

/** Of a run whose folder is gone nothing may be concluded before its processes were looked for. */
function locateRemade(context: Context, agent: AgentId): Located {
  const found = locate(context, agent);
  const remade = isForgotten(found.facts, found.listed) ? remakeFacts(context, found.listed) : false;
  if (remade === undefined) throw notSeen(agent);
  return remade ? locate(context, agent) : found;
}

interface Ending {
  /** Why it is not known to be over. Not when it is, or its keeper says who is stuck. */
  problem?: string | undefined;
  /** The look that found it over: nothing that has no process left can get one. */
  seen?: Seen;
}

async function endProcesses(
  context: Context,
  found: Located,
  { stop: before }: Facts,
  options: StopOptions,
): Promise<Ending> {
  const { paths, listed } = found;
  const ask: StopFact = {
    v: 1,
    reason: options.reason ?? null,
    by: { pid: process.pid, uid: process.getuid?.() ?? 0 },
    grace_ms: options.graceMs ?? context.config.grace,
    requested_at: iso(),
    tries: (before?.tries ?? 0) + 1,
    ...(options.limit === undefined ? {} : { limit: options.limit }),
  };
  makeFolder(context.layout.root, paths.dir);
  replaceFastInside(context.layout.root, paths.stop, `${JSON.stringify(ask)}\n`);
  // Not claimed yet: then nobody will start it, or the keeper was faster and sees stop.json.
  const name = { task: listed.agent.task, ...listed.run };
  if (!readFacts(paths).claim && giveUp(context, name, "stopped before it was started")) return {};
  return await urgeUntilOver(context, found, ask);
}

/** Stops of this process that wait for their keepers. */
let waiting = 0;

async function urgeUntilOver(context: Context, found: Located, ask: StopFact): Promise<Ending> {
  waiting++;
  try {
    return await urge(context, found, ask);
  } finally {
    waiting--;
  }
}

async function urge(context: Context, found: Located, ask: StopFact): Promise<Ending> {
  const { paths, listed } = found;
  const urged: Urged = { begunMs: performance.now(), graceMs: ask.grace_ms, adoptedMs: [] };
  // A hundred stops look at a hundred folders: begin quickly, then calmly. A few see at once what is new.
  for (let pause = 1; ; pause = Math.min(pause * (waiting > FEW ? 1.5 : 1.2), 15)) {
    const now = await look(context, found);
    const { facts } = now;
    const keeper = livingKeeper(facts) ?? livingAdopter(facts);
    const elsewhere = keeper === undefined && isElsewhere(facts) && !isOrphanHere(context, found);
    const seen = {
      nowMs: performance.now(),
      elsewhere,
      keeper: keeper?.pid,
      isStanding: () => keeper !== undefined && ["T", "t"].includes(readProcess(keeper.pid)?.state ?? ""),
    };
    const { step, over, problem } = nextStep(facts, seen, urged);
    if (over) return { problem, ...(hasEnded(facts) ? { seen: now } : {}) };
    if (step === "adopt") {
      await adopt(context, facts, listed.run.nonce, elsewhere);
      urged.adoptedMs.push(performance.now());
    } else if (keeper && step === "ask") {
      if (tell(keeper, "SIGTERM")) urged.asked = keeper.pid;
      tell(keeper, "SIGCONT");
    } else if (keeper && step === "nudge") {
      urged.nudgedMs = seen.nowMs;
      if (seen.isStanding()) tell(keeper, "SIGCONT");
    }
    const last = lastStep(seen, urged);
    if (last === "give up") return { problem: "its keeper gives no proof that it is over" };
    if (keeper && last === "replace") {
      urged.replacedMs = seen.nowMs;
      replaceFastInside(context.layout.root, paths.stop, `${JSON.stringify({ ...ask, grace_ms: 0 })}\n`);
      tell(keeper, "SIGKILL");
    }
    const pauseMs = listed.run.phase === "running" ? pause : 5;
    if (waiting > FEW) await sleep(pauseMs);
    else await pauseUntilNews(paths, keeper?.pid, pauseMs);
  }
}

/** Its facts say that it lives in another pid namespace. They are wrong if it can be seen here, and has no keeper, under any number. */
function isOrphanHere({ layout, config }: Context, { paths, listed: { agent, run } }: Located): boolean {
  if (hasKeeper(`${agent.id}.${run.run}`)) return false;
  return (
    (scanMembers(layout.root, [{ nonce: run.nonce, dir: paths.dir }], config.scan_timeout)[0]?.members ?? []).length > 0
  );
}

interface Done extends Ending {
  alreadyStopped: boolean;
  tookMs: number;
}

async function report(context: Context, found: Located, options: StopOptions, stopped: Done): Promise<Report> {
  const { problem } = stopped;
  const { layout } = context;
  const { agent, run } = found.listed;
  const name = { task: agent.task, agent: agent.id, run: run.run };
  const { facts, members, free } = stopped.seen ?? (await lookIfPossible(context, found));
  const { done } = facts;
  const { verified, retires, forgets } = endingOf(facts, members, options.purge);
  // Asked again it tells what was done then, not what is found now.
  const { purge, files, streams } = options;
  const stow = files && files === "archive";
  if (verified) facts.cleanup = await cleanUp(context, name, facts, { purge, stow, streams, free });
  const tree = retires ? worktreeOf(context, name) : undefined;
  const worktree = tree && { path: tree.path, ...(await retireWorktree(context, name, { rescue: options.rescue })) };
  const row = runRow(layout, agent.task, agent.id, run.run, facts, true);
  const unknown = { pid: row.pid ?? 0, name: "", uid: 0, why: problem ?? "alive" };
  const left = verified ? [] : leftOf(facts, members, unknown);
  const why = problem ?? "something is left";
  if (!verified) audit(context, failureEvents(name, facts.stop, why, left, context.config.left_shown));
  catchUp(context, (registry) => {
    // Its launcher may have come as far as an intent meanwhile, and have told the registry.
    if (forgets && !readFacts(found.paths).intent) registry.deleteRun(agent.id, run.run);
    else registry.putRun(row, agent);
  });
  return {
    agent: agent.id,
    run: run.run,
    verified,
    guarantee: row.guarantee,
    outcome: row.outcome,
    exit: { code: row.exit_code, signal: row.exit_signal },
    processes: done?.processes ?? [],
    processes_total: done?.processes_total ?? 0,
    left,
    // The companion is nobody's child, whoever's keeper brought it back.
    children: (done?.children ?? []).filter(
      (child) => !isCompanion(context, child.run.replace(/\.\d+$/, "") as AgentId),
    ),
    files: facts.cleanup?.files ?? [],
    freed_bytes: facts.cleanup?.freed_bytes ?? 0,
    took_ms: stopped.alreadyStopped ? 0 : stopped.tookMs,
    already_stopped: stopped.alreadyStopped,
    ...(worktree ? { worktree } : {}),
  };
}
