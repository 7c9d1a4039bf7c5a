/**
 * Starting one run: reserve (registry), folders, active mark, intent, keeper. In this order, each step durable before the
 * next, so that whoever comes after a crash finds either nothing or everything needed to finish or give up the launch.
 */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { watchOrders } from "../budget/watched.ts";
import type { Wake } from "../core/attention-record.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import type { IntentFact } from "../core/intent.ts";
import { iso } from "../core/time.ts";
import type { StartFact } from "../core/types.ts";
import { errno, unsafe } from "../disk/fault.ts";
import { makeFolder, removeFile } from "../disk/inside.ts";
import { readJson } from "../disk/replace.ts";
import { createInside, replaceFastInside, replaceInside } from "../disk/write-inside.ts";
import { readFacts } from "../facts/facts.ts";
import { agentRow, runRow } from "../facts/record.ts";
import { writeView } from "../facts/view.ts";
import { witnessed } from "../facts/witness.ts";
import { writeFirstMessage } from "../messages/inbox.ts";
import { hasKeeper, readProcess } from "../process/identity.ts";
import { type KeeperAnswer, startKeeper } from "../process/keeper.ts";
import type { RunRow } from "../registry/registry.ts";
import { recordLater } from "../trust/later.ts";
import { audit } from "../workspace/audit.ts";
import { companionOf } from "../workspace/companion.ts";
import { type Context, catchUp, type RunName, withWriter } from "../workspace/context.ts";
import { type Composed, problemOf, runOrders } from "./launch-plan.ts";
import { carriedBy } from "./rights-plan.ts";

export interface Launched {
  row: RunRow;
  start: StartFact | undefined;
  /** Why there is no running agent, in one sentence. */
  problem: string | undefined;
  /** Something a person should know of a run that was started all the same. */
  warning?: string | undefined;
  /** Why it is queued, of one that nobody asked to queue. */
  wake?: Wake | undefined;
}

export interface LaunchPlan extends Composed {
  /** Made between the reservation and the intent: task.json, a worktree, the move of the former run's files. */
  prepare(): void | Promise<void>;
}

export async function launch(context: Context, plan: LaunchPlan): Promise<Launched> {
  const { layout } = context;
  const { agent, task, run } = plan.intent;
  const step = context.onStep ?? (() => undefined);
  const paths = layout.run(task, agent, run);
  reserve(context, plan.intent);
  step("reserved");
  try {
    await plan.prepare();
    makeFolder(layout.root, layout.task(task).logs);
    makeFolder(layout.root, paths.dir);
    step("folders");
    writeInput(context, plan);
    createInside(layout.root, layout.activeMark(agent, run), `${task}/runs/${agent}/${run}\n`);
    step("active");
    const text = `${JSON.stringify(plan.intent)}\n`;
    if (plan.intent.queued) recordLater(context.trust.state, paths.intent, text, `${agent}.${run} is queued`);
    replaceInside(layout.root, paths.intent, text);
    step("intent");
  } catch (error) {
    undo(context, plan.intent);
    throw error;
  }
  if (plan.intent.queued) {
    writeView(context, task);
    return { row: runRow(layout, task, agent, run, readFacts(paths), true), start: undefined, problem: undefined };
  }
  return await startRun(context, plan);
}

/** The last step: everything is written, the keeper decides by its claim. */
export async function startRun(context: Context, plan: LaunchPlan): Promise<Launched> {
  const { layout } = context;
  const { agent, task, run, nonce } = plan.intent;
  const paths = layout.run(task, agent, run);
  let answer: KeeperAnswer;
  try {
    assertSamePlace(plan.intent);
    answer = await startKeeper(
      "run",
      `${agent}.${run}`,
      nonce,
      [...runOrders(layout, plan, context.trust.state.folder("later")), ...watchOrders(context, plan.intent)],
      context.env,
      carriedBy(layout.root, plan.intent),
    );
  } catch (error) {
    // Nobody may start it any more: the claim decides, also against a keeper that is only slow.
    try {
      giveUp(context, plan.intent, toMidwatchError(error).message);
    } catch {
      // No descriptor left even for that: whoever looks after 10 s gives it up.
    }
    throw error;
  }
  context.onStep?.("answered");
  const started = "start" in answer ? answer.start : undefined;
  // It runs, says its keeper; what it has written or removed meanwhile is a claim.
  const now = readFacts(paths);
  const facts = started?.main
    ? (await witnessed(context, plan.intent, { ...now, intent: plan.intent, start: started }, nonce)).facts
    : now;
  const row = runRow(layout, task, agent, run, facts, true);
  if (started?.main) {
    const data = { run, driver: plan.intent.driver, pid: started.main.pid };
    audit(context, [{ type: "agent.started", content: `${agent} started (run ${run})`, task, agent, data }]);
  }
  const warning = keepRecords(context, plan.intent, row, started);
  return { row, start: started, problem: problemOf(answer, plan.intent), warning };
}

/** A child's folder was found without links when it was granted; one that was put in its place since leads elsewhere. A worktree is ours. */
function assertSamePlace({ parent, cwd, run, worktree }: IntentFact): void {
  if (parent === null || run > 1 || worktree || !existsSync(cwd)) return; // One that is gone its keeper tells of.
  const now = realpathSync(cwd);
  if (now !== cwd) throw unsafe(cwd, `leads to ${now} since the agent was asked for`);
}

/** What others read of a run that has been started. Its facts are on disk: what cannot be written here does not undo that. */
function keepRecords(context: Context, intent: IntentFact, row: RunRow, started?: StartFact): string | undefined {
  const { layout } = context;
  const { agent, task, run, driver, argv, cwd, created_at } = intent;
  const { keeper = null, main = null, started_at = null } = started ?? {};
  try {
    const deploy = { agent, task, run, driver, argv, cwd, created_at, keeper, main, started_at };
    replaceFastInside(layout.root, layout.agent(task, agent).deploy, `${JSON.stringify(deploy, null, 1)}\n`);
    catchUp(context, (registry) => registry.putRun(row, agentRow(intent)));
    writeView(context, task);
    return undefined;
  } catch (error) {
    return `${agent} was started, but not all records of it could be written: ${toMidwatchError(error).message}`;
  }
}

function reserve(context: Context, intent: IntentFact): void {
  const { layout } = context;
  const { task, agent, run, nonce, created_at, created_mono_ms } = intent;
  const blank: RunRow = {
    ...runRow(layout, task, agent, run, readFacts(layout.run(task, agent, run)), true),
    nonce,
    phase: "intended",
    outcome: null,
    created_at,
    queued: intent.queued ? 1 : 0,
    created_mono_ms,
  };
  const limits = { ...context.config, besides: companionOf(context)?.agent };
  withWriter(context, (registry) => registry.insertRun(agentRow(intent), blank, limits));
}

/** What the agent reads, and the files that only it may read. */
export function writeInput(context: Context, { intent, input, message, files }: Composed): void {
  const { root, agent, run } = context.layout;
  const text = input ?? intent.prompt;
  if (message !== null) writeFirstMessage(context, intent, message.text, message.driver);
  else if (text !== null) replaceInside(root, agent(intent.task, intent.agent).prompt, text);
  const { dir } = run(intent.task, intent.agent, intent.run);
  for (const { name, content } of files) replaceInside(root, join(dir, name), content);
}

/**
 * Declares that a run will never start. False when a keeper has claimed it first. Works before there is an intent. A run
 * without a claim that has a keeper was started long ago: its folder was deleted and will be made again.
 */
export function giveUp(context: Context, run: RunName & { nonce: string }, why: string): boolean {
  const { layout } = context;
  const paths = layout.run(run.task, run.agent, run.run);
  if (hasKeeper(`${run.agent}.${run.run}`)) return false;
  const { pid } = process;
  const { start_ticks = 0 } = readProcess(pid) ?? {};
  const text = `${JSON.stringify({ by: "launcher", pid, start_ticks, nonce: run.nonce, why, at: iso() })}\n`;
  try {
    makeFolder(layout.root, paths.dir);
    if (createInside(layout.root, paths.claim, text)) return true;
    // A keeper that died, or met a full disk, in the middle of its claim has started nothing.
    if (hasKeeper(`${run.agent}.${run.run}`) || readJson(paths.claim).value !== undefined) return false;
    replaceInside(layout.root, paths.claim, text);
    return true;
  } catch (error) {
    // Somebody swaps its folder just now: nothing can be declared there, and the other runs must not suffer from it.
    if ((error instanceof MidwatchError && error.code === "UNSAFE_PATH") || errno(error) === "ENOENT") return false;
    throw error;
  }
}

/** The launch failed before its intent was written: nothing can have started, and no trace is left. */
function undo(context: Context, { agent, task, run }: IntentFact): void {
  removeFile(context.layout.root, context.layout.activeMark(agent, run));
  removeFile(context.layout.root, context.layout.agent(task, agent).prompt);
  removeFile(context.layout.root, context.layout.run(task, agent, run).messages);
  catchUp(context, (registry) => registry.deleteRun(agent, run));
}

export function launchFailed(launched: Launched): MidwatchError {
  return new MidwatchError("LAUNCH_FAILED", launched.problem ?? "The agent did not start.", {
    hint: `midwatch show ${launched.row.agent}`,
    data: { agent: launched.row.agent },
  });
}
