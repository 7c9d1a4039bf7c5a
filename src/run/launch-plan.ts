/**
 * What is started. Pure: from what was asked for and what was found out to the intent, what is executed, the orders to the keeper, and
 * what its answer or an error means.
 */
import { resolve } from "node:path";
import type { Config } from "../core/config/config.ts";
import { stricterBounds } from "../core/config/stricter.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote, type TaskId } from "../core/ids.ts";
import type { IntentFact, Permission } from "../core/intent.ts";
import type { Preflight } from "../disk/free-space.ts";
import type { Layout } from "../disk/layout.ts";
import type { Driver, LaunchRequest, PrivateFile } from "../drivers/driver.ts";
import type { KeeperAnswer, Order } from "../process/keeper.ts";
import type { AgentRow } from "../registry/registry.ts";
import type { Repository, WorktreePlan } from "../worktree/worktree.ts";
import type { Rights } from "./rights-plan.ts";

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
  /** What the agent says goes to the journal, each turn as it ends. */
  journal?: "turns" | undefined;
  /** Give it midwatch's MCP server, where its CLI takes one. True unless told otherwise. */
  mcp?: boolean | undefined;
}

const ID_TRIES = 5;

export function wantsWorktree({ worktree, branch }: StartOptions): boolean {
  return worktree === true || branch !== undefined;
}

/** An agent that starts another is its parent, named or not; it may also name one below it. */
export function parentId(
  caller: AgentId | undefined,
  named: AgentId | undefined,
  isBelow: (named: AgentId, caller: AgentId) => boolean,
): AgentId | undefined {
  if (caller !== undefined && named !== undefined && named !== caller && !isBelow(named, caller)) {
    throw new MidwatchError("REFUSED_RIGHT", `The agent ${quote(caller)} may not start agents for ${quote(named)}.`, {
      hint: "Leave --parent out.",
    });
  }
  return named ?? caller;
}

/** What a first run knows of itself before it is known what it should do. */
type Begun = Pick<
  IntentFact,
  "v" | "agent" | "task" | "run" | "nonce" | "boot_id" | "pid_ns" | "created_at" | "created_mono_ms" | "driver"
>;

interface StartPlace {
  callerCwd: string;
  cwd: string;
  parent: Pick<AgentRow, "id" | "depth"> | undefined;
  /** Of those above it: it gets no wider limits than theirs. */
  above: readonly Rights[];
  tree: WorktreePlan | undefined;
  /** How many may run where nobody says otherwise. */
  usualMost: number;
}

export function intentOf(options: StartOptions, begun: Begun, place: StartPlace, config: Config): IntentFact {
  const { callerCwd, cwd, parent, above, tree } = place;
  const bounds = boundsOf(config);
  return {
    ...begun,
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
    env_file: options.envFile === undefined ? null : resolve(callerCwd, options.envFile),
    worktree: tree?.fact.path ?? null,
    git: tree ? { repository: tree.fact.repository, base: tree.fact.base, branch: tree.fact.branch } : null,
    labels: [...(options.labels ?? [])],
    queued: options.queue ?? false,
    ...(options.queue && config.max_running !== place.usualMost ? { max_running: config.max_running } : {}),
    capability: "",
    ...bounds,
    ...above.reduce(stricterBounds, bounds),
    ...(options.journal === undefined ? {} : { journal: options.journal }),
    ...(options.mcp === false ? { mcp: false } : {}),
  };
}

/** What the configuration allows a run and does to it. */
export function boundsOf(
  config: Config,
): Pick<IntentFact, "limits" | "limit_policy" | "disk" | "sync" | "grace_ms" | "tier"> {
  return {
    limits: {
      output_bytes: config.output_limit,
      wall_ms: config.wall_limit,
      idle_ms: config.idle_limit,
      tokens: config.token_limit,
      cost_usd: config.cost_limit,
    },
    limit_policy: config.limit_policy,
    disk: { floor_bytes: config.disk_floor, policy: config.disk_policy },
    sync: config.sync,
    grace_ms: config.grace,
    tier: config.tier,
  };
}

export interface Composed {
  intent: IntentFact;
  /** Added to the environment; secrets among it, so it is kept nowhere. */
  env: Record<string, string>;
  /** What the agent reads as its input; null when it reads a file of the caller's, or nothing. */
  input: string | null;
  /** The first message of an interactive run; null when it gets none. */
  message: { text: string; driver: Driver } | null;
  /** Written into the run's folder before it starts. */
  files: readonly PrivateFile[];
}

/** What the driver has to know beside the intent. */
export type Request = Omit<
  LaunchRequest,
  "model" | "permission" | "cwd" | "resume" | "interactive" | "budget_usd" | "args"
>;

/** A command is executed as it was asked for; for other drivers a request is made. */
export function composedOf(
  driver: Driver,
  asked: IntentFact,
  env: Record<string, string>,
  makeRequest: () => Request,
  promptFile: string,
): Composed {
  const { interactive } = asked;
  if (driver.program === null) {
    const message = interactive && asked.prompt !== null ? { text: asked.prompt, driver } : null;
    return { intent: asked, env, input: null, message, files: [] };
  }
  const request = makeRequest();
  const { model, permission, cwd, args, limits, limit_policy } = asked;
  const resume = asked.resume ? asked.session : null;
  assertNoFlag("model", model);
  assertNoFlag("session", resume);
  const budget_usd = limits.cost_usd > 0 && limit_policy === "stop" ? limits.cost_usd : null;
  const launch = driver.launch({ ...request, model, permission, cwd, resume, interactive, budget_usd, args });
  const stdin = interactive ? null : promptFile;
  const sessions = driver.aside?.folder((variable) => launch.env[variable] ?? request.env[variable]);
  const kept = sessions == null ? {} : { sessions: resolve(cwd, sessions) };
  return {
    intent: { ...asked, argv: [...launch.argv], session: launch.session ?? resume, stdin, ...kept },
    env: { ...launch.env, ...env },
    input: launch.stdin,
    message: interactive ? { text: request.prompt, driver } : null,
    files: launch.files,
  };
}

/** A CLI would take it for one of its flags, such as that for all permissions: an agent names the model, and an output the session. */
function assertNoFlag(what: string, value: string | null): void {
  if (value?.startsWith("-"))
    throw new MidwatchError("USAGE", `${quote(value)} cannot be the name of a ${what}: it begins with a dash.`, {
      hint: "Further arguments for the CLI stand behind --.",
    });
}

/** What every keeper of the run is told, also one that takes over. */
/** `later` is the folder whose records tell the keeper which messages midwatch wrote. */
export function commonOrders(layout: Layout, intent: IntentFact, later: string): Order[] {
  const paths = layout.run(intent.task, intent.agent, intent.run);
  const files = layout.agent(intent.task, intent.agent);
  return [
    ["dir", paths.dir],
    ["root", layout.root],
    ["log", files.log],
    ["err", files.stderr],
    ["idx", files.index],
    ["events", layout.events],
    ["remove", files.prompt],
    ["keep", layout.workspaceFact],
    ["keep", paths.intent],
    ["keep", paths.secrets],
    ["keep", layout.task(intent.task).fact],
    ["keep", layout.activeMark(intent.agent, intent.run)],
    ["tier", intent.tier],
    ["sync", intent.sync],
    ["grace_ms", intent.grace_ms],
    ["output_limit", intent.limits.output_bytes],
    ["wall_ms", intent.limits.wall_ms],
    ["idle_ms", intent.limits.idle_ms],
    ["limit_policy", intent.limit_policy],
    ["disk_floor", intent.disk.floor_bytes],
    ["disk_policy", intent.disk.policy],
    ...(intent.interactive ? [["fifo", paths.input] as const, ["later", later] as const] : []),
  ];
}

export function runOrders(layout: Layout, { intent, env }: Composed, later: string): Order[] {
  const orders = commonOrders(layout, intent, later);
  orders.push(["cwd", intent.cwd]);
  if (intent.stdin !== null) orders.push(["stdin", intent.stdin]);
  if (intent.run > 1) orders.push(["first_line", restartMarker(intent)]);
  for (const argument of intent.argv) orders.push(["arg", argument]);
  for (const [name, value] of Object.entries(env)) orders.push(["env", `${name}=${value}`]);
  orders.push(
    ["env", `MIDWATCH_WORKSPACE=${layout.root}`],
    ["env", `MIDWATCH_AGENT=${intent.agent}`],
    ["env", `MIDWATCH_RUN=${intent.run}`],
  );
  return orders;
}

/** Run 2 and later begin with a line of ours. */
function restartMarker({ agent: agent_id, run, created_at: timestamp }: IntentFact): string {
  return `${JSON.stringify({ type: "lifecycle", event: "agent_restart", agent_id, run, timestamp })}\n`;
}

/** Why there is no running agent, in one sentence. */
export function problemOf(answer: KeeperAnswer, intent: IntentFact): string | undefined {
  if ("error" in answer)
    return answer.error.code === "CLAIMED" ? "Another process gave this launch up." : answer.error.message;
  const failed = "start" in answer ? answer.start.exec_error : undefined;
  if (!failed) return undefined;
  const what =
    {
      exec: `execute ${intent.argv[0]}`,
      cwd: `enter ${intent.cwd}`,
      stdin: `open ${intent.stdin ?? "its input"}`,
      fork: "start a process",
    }[failed.what] ?? `open its ${failed.what}`;
  return `The keeper could not ${what}: ${failed.name}.`;
}

/** After an error: is the same tried with another id, and was anything made that has to go? */
export function afterError(error: unknown, attempt: number): { again: boolean; undoes: boolean } {
  const taken = error instanceof MidwatchError && error.code === "DUPLICATE_ID";
  return { again: taken && attempt < ID_TRIES, undoes: !taken };
}

/** What a person should know of a run that was started all the same. */
export function warningOf(
  room: Preflight,
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
