/** A new agent: options to intent, then launch. */
import { resolve } from "node:path";
import { heldBack, newSpender } from "../budget/budgets.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, ARCHIVE_DIR, newAgentId, newNonce, newTaskId, slug, type TaskId } from "../core/ids.ts";
import { PROMPT_BYTES, type TaskFact } from "../core/intent.ts";
import { iso, monoMs } from "../core/time.ts";
import { preflight } from "../disk/free-space.ts";
import { assertInside, makeFolder, removeTree } from "../disk/inside.ts";
import { assertWritable } from "../disk/workspace.ts";
import { replaceInside } from "../disk/write-inside.ts";
import type { Driver } from "../drivers/driver.ts";
import { knownTask } from "../facts/locate.ts";
import { host } from "../process/identity.ts";
import { keeperBinary } from "../process/keeper-binary.ts";
import { type Context, withWriter } from "../workspace/context.ts";
import { assertCommand, assertFolder, assertInput } from "../workspace/find-command.ts";
import { undoWorktree } from "../worktree/retire-worktree.ts";
import { findRepository, makeWorktree, planWorktree } from "../worktree/worktree.ts";
import type { Granted } from "./above.ts";
import { assertProgram, compose } from "./compose.ts";
import { type Launched, launch } from "./launch.ts";
import { afterError, intentOf, type StartOptions, wantsWorktree, warningOf } from "./launch-plan.ts";

const TITLE_MAX = 200;

export interface Started extends Launched {
  agent: AgentId;
  task: TaskId;
}

/** What can be said without a workspace: can the name be used, is there such a folder and such a command? */
export function checkStart(
  options: Pick<StartOptions, "argv" | "cwd" | "name" | "role" | "stdin" | "prompt">,
  driver: Driver,
  callerCwd: string,
  env: NodeJS.ProcessEnv,
): string {
  const cwd = resolve(callerCwd, options.cwd ?? ".");
  slug(options.name ?? options.role ?? driver.name);
  assertFolder(cwd);
  if (Buffer.byteLength(options.prompt ?? "") > PROMPT_BYTES)
    throw new MidwatchError("USAGE", `The prompt is longer than ${PROMPT_BYTES} bytes.`, {
      hint: "Put long text into a file that the agent can read, and name that file.",
    });
  if (options.stdin !== undefined) {
    if (driver.program !== null) throw stdinTaken(driver.name);
    assertInput(resolve(cwd, options.stdin));
  }
  if (driver.program === null) assertCommand(options.argv?.[0] ?? "", cwd, env["PATH"] ?? "");
  else assertProgram(driver, env["PATH"] ?? "");
  return cwd;
}

function stdinTaken(driver: string): MidwatchError {
  return new MidwatchError("USAGE", `--stdin is for commands: the driver ${driver} reads its prompt from its input.`, {
    hint: "Give that text as the prompt: `midwatch run --prompt-file FILE`, or `midwatch run -` with it on the standard input.",
  });
}

export async function start(context: Context, driver: Driver, granted: Granted): Promise<Started> {
  const { options, parent, above } = granted;
  const { config, layout } = context;
  const usualMost = context.persons.max_running;
  const cwd = checkStart(options, driver, context.cwd, context.env);
  if (options.interactive && options.stdin !== undefined)
    throw new MidwatchError("USAGE", "--interactive and --stdin exclude each other: both are its input.", {
      hint: "Send the file's text as a message: midwatch send ID - < FILE",
    });
  keeperBinary(context.env);
  assertWritable(layout.root);
  assertInside(layout.root, layout.active);
  const room = preflight(layout.root, config);
  // An agent's children work on its task.
  const known = options.task ?? parent?.task;
  const task = known === undefined ? undefined : knownTask(context, known);
  const source = wantsWorktree(options) ? await findRepository(cwd, context.env) : undefined;
  for (let attempt = 1; ; attempt++) {
    const now = Date.now();
    const agent = newAgentId(options.name ?? options.role ?? driver.name, now);
    const fact = task ?? taskFact(newTaskId(now), options.description ?? titleOf(options), now);
    const tree = source && (await planWorktree(context, agent, source, options.branch));
    const name = { v: 1 as const, agent, task: fact.task, run: 1, nonce: newNonce(), ...host() };
    const begun = { ...name, created_at: iso(now), created_mono_ms: monoMs(), driver: driver.name };
    const wake = heldBack(context, newSpender(context, agent, options.labels ?? [], parent?.id));
    const wanted = wake === undefined ? options : { ...options, queue: true };
    const asked = intentOf(wanted, begun, { callerCwd: context.cwd, cwd, parent, above, tree, usualMost }, config);
    const composed = await compose(context, driver, asked, fact, cwd);
    const prepare = async (): Promise<void> => {
      if (task === undefined) putTask(context, fact);
      if (tree === undefined) return;
      await makeWorktree(context, asked, tree);
      // It may have taken minutes; from here on the usual time for a launch counts.
      composed.intent.created_mono_ms = monoMs();
    };
    try {
      const launched = await launch(context, { ...composed, prepare });
      if (tree && launched.problem !== undefined) await undoWorktree(context, asked);
      return { ...launched, agent, task: fact.task, wake, warning: warningOf(room, source, launched.warning) };
    } catch (error) {
      const { again, undoes } = afterError(error, attempt);
      if (tree && undoes) await undoWorktree(context, asked);
      if (!again) throw error;
    }
  }
}

function titleOf({ prompt, argv }: StartOptions): string {
  return (prompt ?? argv?.join(" ") ?? "").slice(0, TITLE_MAX);
}

type TaskOption = "priority" | "labels" | "deliverables" | "constraints" | "files" | "max_agents" | "on_verdict";
export type TaskOptions = { [K in TaskOption]?: TaskFact[K] | undefined };

export function taskFact(task: TaskId, description: string, nowMs: number, options: TaskOptions = {}): TaskFact {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { v: 1, task, description, created_at: iso(nowMs), ...Object.fromEntries(given) };
}

export function putTask(context: Context, made: TaskFact): void {
  const { archive_dir } = context.config;
  const fact: TaskFact = archive_dir === ARCHIVE_DIR ? made : { ...made, archive_dir };
  const { task, description, created_at } = fact;
  makeFolder(context.layout.root, context.layout.task(task).dir);
  replaceInside(context.layout.root, context.layout.task(task).fact, `${JSON.stringify(fact, null, 1)}\n`);
  try {
    withWriter(context, (registry) => registry.putTask({ id: task, description, created_at, data: { ...fact } }));
  } catch (error) {
    removeTree(context.layout.root, context.layout.task(task).dir); // It was not made, and nothing says that it was.
    throw error;
  }
}
