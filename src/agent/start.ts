/** A new agent: options to intent, then launch. */
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, newAgentId, newNonce, newTaskId, parseAgentId, quote, slug, type TaskId } from "../core/ids.ts";
import { iso, monoMs } from "../core/time.ts";
import type { IntentFact, TaskFact } from "../core/types.ts";
import { preflight } from "../disk/free-space.ts";
import { assertInside, makeFolder, removeTree } from "../disk/inside.ts";
import { replace } from "../disk/replace.ts";
import { assertWritable } from "../disk/workspace.ts";
import { host } from "../process/identity.ts";
import { keeperBinary } from "../process/keeper-binary.ts";
import { type Context, withReader, withWriter } from "./context.ts";
import { assertCommand, assertFolder } from "./find-command.ts";
import { type Launched, launch } from "./launch.ts";

export interface StartOptions {
  argv: readonly string[];
  task?: TaskId | undefined;
  role?: string | undefined;
  name?: string | undefined;
  parent?: AgentId | undefined;
  /** Kept in agent_prompt_<agent>.txt while the run lives, and in its intent. */
  prompt?: string | undefined;
  cwd?: string | undefined;
  /** A file or FIFO to read from; nothing by default. */
  stdin?: string | undefined;
  description?: string | undefined;
}

const DRIVER = "command";
const ID_TRIES = 5;

export interface Started extends Launched {
  agent: AgentId;
  task: TaskId;
  warning: string | undefined;
}

/** What can be said without a workspace: can the name be used, is there such a folder and such a command? */
export function checkStart(
  options: Pick<StartOptions, "argv" | "cwd" | "name" | "role">,
  callerCwd: string,
  env: NodeJS.ProcessEnv,
): string {
  const cwd = resolve(callerCwd, options.cwd ?? ".");
  slug(options.name ?? options.role ?? DRIVER);
  assertFolder(cwd);
  assertCommand(options.argv[0] ?? "", cwd, env["PATH"] ?? "");
  return cwd;
}

export async function start(context: Context, options: StartOptions): Promise<Started> {
  const { config, layout } = context;
  const cwd = checkStart(options, context.cwd, context.env);
  keeperBinary(context.env);
  assertWritable(layout.root);
  assertInside(layout.root, layout.active);
  const room = preflight(layout.root, config);
  const parent = parentOf(context, options.parent);
  const task = options.task === undefined ? undefined : knownTask(context, options.task);
  for (let attempt = 1; ; attempt++) {
    const now = Date.now();
    const agent = newAgentId(options.name ?? options.role ?? DRIVER, now);
    const intent: IntentFact = {
      v: 1,
      agent,
      task: task ?? newTaskId(now),
      run: 1,
      nonce: newNonce(),
      ...host(),
      created_at: iso(now),
      created_mono_ms: monoMs(),
      driver: DRIVER,
      role: options.role ?? null,
      name: options.name ?? null,
      parent: parent?.id ?? null,
      depth: parent === undefined ? 0 : parent.depth + 1,
      argv: [...options.argv],
      cwd,
      prompt: options.prompt ?? null,
      stdin: options.stdin === undefined ? null : resolve(cwd, options.stdin),
      limits: { output_bytes: config.output_limit },
      disk: { floor_bytes: config.disk_floor, policy: config.disk_policy },
      sync: config.sync,
      grace_ms: config.grace,
      tier: config.tier,
    };
    const prepare = (): void => {
      if (task === undefined) makeTask(context, intent.task, options.description ?? options.argv.join(" "), now);
    };
    try {
      const launched = await launch(context, { intent, prepare });
      return { ...launched, agent, task: intent.task, warning: room.state === "warning" ? room.message : undefined };
    } catch (error) {
      if (!(error instanceof MidwatchError && error.code === "DUPLICATE_ID") || attempt === ID_TRIES) throw error;
    }
  }
}

export function makeTask(context: Context, task: TaskId, description: string, nowMs: number = Date.now()): TaskFact {
  const fact: TaskFact = { v: 1, task, description, created_at: iso(nowMs) };
  makeFolder(context.layout.root, context.layout.task(task).dir);
  replace(context.layout.task(task).fact, `${JSON.stringify(fact, null, 1)}\n`);
  try {
    withWriter(context, (registry) =>
      registry.putTask({ id: task, description, created_at: fact.created_at, data: { ...fact } }),
    );
  } catch (error) {
    removeTree(context.layout.root, context.layout.task(task).dir); // It was not made, and nothing says that it was.
    throw error;
  }
  return fact;
}

function knownTask(context: Context, task: TaskId): TaskId {
  if (withReader(context, (registry) => registry.task(task)) !== undefined) return task;
  throw new MidwatchError("NOT_FOUND_TASK", `There is no task ${task}.`, { hint: "`midwatch tasks` lists them." });
}

/** An agent that starts another is its parent, named or not. */
function parentOf(context: Context, named: AgentId | undefined): { id: AgentId; depth: number } | undefined {
  const inherited =
    context.env["MIDWATCH_WORKSPACE"] === context.layout.root ? context.env["MIDWATCH_AGENT"] : undefined;
  const id = named ?? (inherited ? parseAgentId(inherited) : undefined);
  if (id === undefined) return undefined;
  const listed = withReader(context, (registry) => registry.get(id));
  if (listed !== undefined) return { id, depth: listed.agent.depth };
  throw new MidwatchError("NOT_FOUND_AGENT", `The parent ${quote(id)} is not in this workspace.`, {
    hint: "`midwatch ls --all` lists the agents.",
  });
}
