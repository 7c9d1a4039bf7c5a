/** A new agent: options to intent, then launch. */
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, newAgentId, newNonce, newTaskId, quote, slug, type TaskId } from "../core/ids.ts";
import { type IntentFact, type Permission, PROMPT_BYTES, type TaskFact } from "../core/intent.ts";
import { iso, monoMs } from "../core/time.ts";
import { preflight } from "../disk/free-space.ts";
import { assertInside, makeFolder, removeTree } from "../disk/inside.ts";
import { assertWritable } from "../disk/workspace.ts";
import { replaceInside } from "../disk/write-inside.ts";
import type { Driver } from "../drivers/driver.ts";
import { knownTask } from "../facts/locate.ts";
import { host } from "../process/identity.ts";
import { keeperBinary } from "../process/keeper-binary.ts";
import { callingAgent, isBelow } from "../workspace/caller.ts";
import { type Context, withReader, withWriter } from "../workspace/context.ts";
import { assertCommand, assertFolder, assertInput } from "../workspace/find-command.ts";
import { undoWorktree } from "../worktree/retire-worktree.ts";
import { findRepository, makeWorktree, planWorktree, type Repository } from "../worktree/worktree.ts";
import { assertProgram, compose } from "./compose.ts";
import { type Launched, launch } from "./launch.ts";
import { limitsOf } from "./limits.ts";

/** What to start, and how; `argv`, or a `driver` with a `prompt`, is enough. */
export interface StartOptions {
  /** The command, for the driver `command`. */
  argv?: readonly string[] | undefined;
  /** `command` unless told otherwise. */
  driver?: string | undefined;
  task?: TaskId | undefined;
  role?: string | undefined;
  name?: string | undefined;
  parent?: AgentId | undefined;
  /** What the agent should do; it gets it as its input, with its task round it. */
  prompt?: string | undefined;
  model?: string | undefined;
  permission?: Permission | undefined;
  /** Further arguments for the driver's CLI. */
  args?: readonly string[] | undefined;
  cwd?: string | undefined;
  /** A file or FIFO to read from; nothing by default. */
  stdin?: string | undefined;
  /** A file of NAME=value lines for the agent's environment. */
  envFile?: string | undefined;
  labels?: readonly string[] | undefined;
  /** Wait for room under `max_running` instead of starting at once. */
  queue?: boolean | undefined;
  /** Its input stays open for messages. */
  interactive?: boolean | undefined;
  description?: string | undefined;
  /** A git worktree of its own, on a branch of its own. */
  worktree?: boolean | undefined;
  /** The name of that branch; `midwatch/<agent>` unless told otherwise. */
  branch?: string | undefined;
  /** What the agent said, turn by turn, goes to the journal when it has ended. */
  journal?: "turns" | undefined;
  /** Give it midwatch's MCP server, where its CLI takes one. True unless told otherwise. */
  mcp?: boolean | undefined;
}

const ID_TRIES = 5;
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

export async function start(context: Context, driver: Driver, options: StartOptions): Promise<Started> {
  const { config, layout } = context;
  const cwd = checkStart(options, driver, context.cwd, context.env);
  if (options.interactive && options.stdin !== undefined)
    throw new MidwatchError("USAGE", "--interactive and --stdin exclude each other: both are its input.", {
      hint: "Send the file's text as a message: midwatch send ID - < FILE",
    });
  keeperBinary(context.env);
  assertWritable(layout.root);
  assertInside(layout.root, layout.active);
  const room = preflight(layout.root, config);
  const parent = parentOf(context, options.parent);
  // An agent's children work on its task.
  const known = options.task ?? parent?.task;
  const task = known === undefined ? undefined : knownTask(context, known);
  const source = wantsWorktree(options) ? await findRepository(cwd, context.env) : undefined;
  for (let attempt = 1; ; attempt++) {
    const now = Date.now();
    const agent = newAgentId(options.name ?? options.role ?? driver.name, now);
    const fact = task ?? taskFact(newTaskId(now), options.description ?? titleOf(options), now);
    const tree = source && (await planWorktree(context, agent, source, options.branch));
    const asked: IntentFact = {
      v: 1,
      agent,
      task: fact.task,
      run: 1,
      nonce: newNonce(),
      ...host(),
      created_at: iso(now),
      created_mono_ms: monoMs(),
      driver: driver.name,
      role: options.role ?? null,
      name: options.name ?? null,
      parent: parent?.id ?? null,
      depth: parent === undefined ? 0 : parent.depth + 1,
      argv: [...(options.argv ?? [])],
      cwd: tree?.cwd ?? cwd,
      prompt: options.prompt ?? null,
      stdin: options.stdin === undefined ? null : resolve(cwd, options.stdin),
      model: options.model ?? null,
      permission: options.permission ?? "ask",
      session: null,
      resume: false,
      interactive: options.interactive ?? false,
      args: [...(options.args ?? [])],
      env_file: options.envFile === undefined ? null : resolve(context.cwd, options.envFile),
      worktree: tree?.fact.path ?? null,
      git: tree ? { repository: tree.fact.repository, base: tree.fact.base, branch: tree.fact.branch } : null,
      labels: [...(options.labels ?? [])],
      queued: options.queue ?? false,
      capability: "",
      ...limitsOf(config),
      disk: { floor_bytes: config.disk_floor, policy: config.disk_policy },
      sync: config.sync,
      grace_ms: config.grace,
      tier: config.tier,
      ...(options.journal === undefined ? {} : { journal: options.journal }),
      ...(options.mcp === false ? { mcp: false } : {}),
    };
    const composed = compose(context, driver, asked, fact, cwd);
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
      return { ...launched, agent, task: fact.task, warning: warningOf(room, source, launched.warning) };
    } catch (error) {
      const again = error instanceof MidwatchError && error.code === "DUPLICATE_ID";
      if (tree && !again) await undoWorktree(context, asked);
      if (!again || attempt === ID_TRIES) throw error;
    }
  }
}

export function wantsWorktree({ worktree, branch }: StartOptions): boolean {
  return worktree === true || branch !== undefined;
}

function warningOf(
  room: ReturnType<typeof preflight>,
  source: Repository | undefined,
  launched: string | undefined,
): string | undefined {
  const changes = source?.changes ?? 0;
  const warnings = [
    ...(launched === undefined ? [] : [launched]),
    ...(room.state === "warning" ? [room.message] : []),
    ...(changes > 0 ? [`${changes} uncommitted changes of ${source?.top} are not in the worktree`] : []),
  ];
  return warnings.length > 0 ? warnings.join("; ") : undefined;
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

export function putTask(context: Context, fact: TaskFact): void {
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

/** An agent that starts another is its parent, named or not; it may also name one below it. */
function parentOf(
  context: Context,
  named: AgentId | undefined,
): { id: AgentId; depth: number; task: TaskId } | undefined {
  const caller = callingAgent(context);
  if (caller !== undefined && named !== undefined && named !== caller && !isBelow(context, named, caller)) {
    throw new MidwatchError("REFUSED_RIGHT", `The agent ${quote(caller)} may not start agents for ${quote(named)}.`, {
      hint: "Leave --parent out.",
    });
  }
  const id = named ?? caller;
  if (id === undefined) return undefined;
  const listed = withReader(context, (registry) => registry.get(id));
  if (listed !== undefined) return { id, depth: listed.agent.depth, task: listed.agent.task };
  throw new MidwatchError("NOT_FOUND_AGENT", `The parent ${quote(id)} is not in this workspace.`, {
    hint: "`midwatch ls --all` lists the agents.",
  });
}
