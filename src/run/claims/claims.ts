/**
 * Who works on a task, where agents have to agree on that: a claim is a register of the task, set by whoever finds it free. Of several at once
 * one wins, each new holder has a higher term, and nothing has to be given back: a claim counts only while its agent's run lives.
 */
import { MidwatchError } from "../../core/errors.ts";
import type { AgentId, TaskId } from "../../core/ids.ts";
import type { TaskClaim } from "../../core/intent.ts";
import { oneLine } from "../../core/text/one-line.ts";
import { iso, monoMs } from "../../core/time.ts";
import { knownTask, locate } from "../../facts/locate.ts";
import { hasEnded } from "../../facts/observe.ts";
import { host, isGone, type Somebody } from "../../process/identity.ts";
import { callingAgent, refuse } from "../../workspace/caller.ts";
import { type Context, withReader } from "../../workspace/context.ts";

const PREFIX = "leases/task-";
const HOLDER_MAX = 200;

interface ClaimValue {
  v: 1;
  task: TaskId;
  holder: string;
  /** Of an agent: the claim ends with this run. */
  agent: AgentId | null;
  run: number | null;
  process: Somebody | null;
  term: number;
  since: string;
  /** It ends so long after it was made or made again; null when it does not end by itself. */
  ttl_ms: number | null;
  renewed_mono_ms: number;
  boot_id: string;
  resigned: boolean;
}

/** How to claim. */
export interface ClaimOptions {
  /** For whom, by a person; an agent claims for itself. */
  as?: string | undefined;
  ttlMs?: number | undefined;
  /** Give it back. */
  release?: boolean | undefined;
}

/** Claims a task, or claims it again, or gives it back. Throws REFUSED_CLAIM while somebody else has it. */
export async function claimTask(
  context: Context,
  given: TaskId | undefined,
  options: ClaimOptions = {},
): Promise<TaskClaim> {
  const caller = callingAgent(context);
  const task = given ?? ownTask(context, caller);
  if (caller !== undefined && ownTask(context, caller) !== task) refuse(caller, `claim the task ${task}`);
  knownTask(context, task);
  const key = keyOf(task);
  for (;;) {
    const found = await context.engine.get<ClaimValue | null>(key);
    const value = found?.value ?? undefined;
    const held = value !== undefined && isHeld(context, value) ? value : undefined;
    const mine = claimOf(context, task, caller, options, held, value?.term ?? 0);
    // A person may take back any claim; an agent its own.
    const isFree = held === undefined || isSame(held, mine);
    if (!isFree && !(options.release && caller === undefined)) throw refused(held);
    if (options.release && held === undefined) return shown(task, value, false);
    const next = options.release && held !== undefined ? { ...held, resigned: true } : mine;
    if ((await context.engine.set(key, next, found?.rev ?? 0)) !== undefined) return shown(task, next, !next.resigned);
  }
}

/** The claims that count now; of one task, when it is given. */
export async function heldClaims(context: Context, task?: TaskId): Promise<TaskClaim[]> {
  const found: TaskClaim[] = [];
  for (const key of task === undefined ? await context.engine.keys(PREFIX) : [keyOf(task)]) {
    const value = (await context.engine.get<ClaimValue | null>(key))?.value ?? undefined;
    if (value !== undefined && isHeld(context, value)) found.push(shown(value.task, value, true));
  }
  return found;
}

const keyOf = (task: TaskId): string => `${PREFIX}${task.slice("TASK-".length)}`;

function ownTask(context: Context, caller: AgentId | undefined): TaskId {
  const listed = caller && withReader(context, (registry) => registry.get(caller));
  if (listed) return listed.agent.task;
  throw new MidwatchError("USAGE", "Which task?", { hint: "midwatch claim TASK; `midwatch tasks` lists them." });
}

function claimOf(
  context: Context,
  task: TaskId,
  caller: AgentId | undefined,
  { as = "a person", ttlMs }: ClaimOptions,
  held: ClaimValue | undefined,
  term: number,
): ClaimValue {
  const { listed, facts } = caller === undefined ? {} : locate(context, caller);
  const { start } = facts ?? {};
  const holder = caller ?? oneLine(as).slice(0, HOLDER_MAX);
  const again = held !== undefined && isSame(held, { holder, agent: caller ?? null });
  return {
    v: 1,
    task,
    holder,
    agent: caller ?? null,
    run: listed?.run.run ?? null,
    process: start?.main ? { ...start.main, boot_id: start.boot_id, pid_ns: start.pid_ns } : null,
    term: again ? held.term : term + 1,
    since: again ? held.since : iso(),
    ttl_ms: ttlMs ?? null,
    renewed_mono_ms: monoMs(),
    boot_id: host().boot_id,
    resigned: false,
  };
}

/** A person who gives the name of an agent is not that agent. */
function isSame(a: Pick<ClaimValue, "holder" | "agent">, b: Pick<ClaimValue, "holder" | "agent">): boolean {
  return a.holder === b.holder && a.agent === b.agent;
}

/** An agent's ends with its run, however that ends; the kernel knows of a killed one before any fact does. */
function isHeld(
  context: Context,
  { resigned, agent, run, process, ttl_ms, renewed_mono_ms, boot_id }: ClaimValue,
): boolean {
  if (resigned) return false;
  // That clock is one for all processes of a boot.
  if (ttl_ms !== null && (boot_id !== host().boot_id || monoMs() - renewed_mono_ms >= ttl_ms)) return false;
  if (agent === null) return true;
  if (process !== null && isGone(process)) return false;
  if (withReader(context, (registry) => registry.get(agent)) === undefined) return false;
  const { listed, facts } = locate(context, agent);
  return listed.run.run === run && !hasEnded(facts);
}

function shown(task: TaskId, value: ClaimValue | undefined, isHeld: boolean): TaskClaim {
  const { holder = null, term = 0, since = null, ttl_ms = null } = value ?? {};
  return isHeld ? { task, holder, term, since, ttl_ms } : { task, holder: null, term, since: null, ttl_ms: null };
}

function refused({ task, holder, since, term }: ClaimValue): MidwatchError {
  return new MidwatchError("REFUSED_CLAIM", `${holder} has claimed ${task} (term ${term}, since ${since}).`, {
    hint: "Take another task (`midwatch tasks`), or claim this one when that agent has ended.",
  });
}
