/**
 * `midwatch lead`: any process takes over as the leader of a workspace, an agent with a plain shell too. It holds the lease and says so in
 * the journal while it lives, and that is all: leading is a name and a term, no right. The rounds go on with whoever watches.
 */
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { Leader } from "../journal/leader.ts";
import { runBeside } from "../process/beside.ts";
import { callingAgent } from "../workspace/caller.ts";
import { anyAgentLives } from "../workspace/companion.ts";
import type { Context } from "../workspace/context.ts";

const LOOK_MS = 1000;

/** How to lead. */
export interface LeadOptions {
  /** Told to end: the lease is given back. */
  signal: AbortSignal;
  tell(text: string): void;
  /** Give up when somebody else leads for all of this time. */
  timeoutMs?: number | undefined;
  /** Runs while we lead, and is ended when we do not any more. */
  command?: readonly string[] | undefined;
}

/** What became of it. */
export interface LeadRecord {
  /** `leads`: elected; `ended`: the command has; `lost`: the lease is somebody else's; `not_elected`: in the time that was given. */
  state: "leads" | "ended" | "lost" | "not_elected";
  /** Who leads, or wanted to. */
  actor: string;
  term: number | null;
  /** Of the command; null when a signal ended it, or it has not. */
  exit: number | null;
}

export async function* lead(context: Context, options: LeadOptions): AsyncGenerator<LeadRecord> {
  const { signal, tell, timeoutMs = Number.POSITIVE_INFINITY } = options;
  const { leader_ttl: ttlMs, pause } = context.config;
  const actor = callingAgent(context);
  const heard = (): boolean => anyAgentLives(context);
  const leader = new Leader(context.engine, { kind: "lead", actor, ttlMs, pause, tell, signal, heard });
  const record = (state: LeadRecord["state"], exit: number | null = null): LeadRecord => {
    return { state, actor: leader.actor, term: leader.term ?? null, exit };
  };
  try {
    const begun = performance.now();
    do {
      await leader.wait(Math.min(LOOK_MS, timeoutMs));
      if (signal.aborted) return;
    } while (leader.term === undefined && performance.now() - begun < timeoutMs);
    yield record(leader.term === undefined ? "not_elected" : "leads");
    if (leader.term === undefined) return;
    const ended = await whileLeading(leader, context, options);
    if (!signal.aborted) yield ended === undefined ? record("lost") : record("ended", ended.exit);
  } finally {
    await leader.close();
  }
}

/** Until the command has ended, and how; undefined when we do not lead any more, or are told to end. */
async function whileLeading(
  leader: Leader,
  { cwd, env, config }: Context,
  { signal, command = [] }: LeadOptions,
): Promise<{ exit: number | null } | undefined> {
  const { term } = leader;
  const [program, ...args] = command;
  const over = new AbortController();
  let ended: { exit: number | null } | { error: unknown } | undefined;
  const running =
    program === undefined
      ? new Promise<never>(() => undefined)
      : runBeside([program, ...args], { cwd, env, signal: over.signal }).then(
          (exit) => {
            ended = { exit };
          },
          (error: unknown) => {
            ended = { error };
          },
        );
  while (!signal.aborted && ended === undefined && leader.term === term) {
    await Promise.race([leader.wait(LOOK_MS), running]);
    // One that stood still is not sure of its lease until it has looked again.
    if (leader.term !== term) await leader.wait(config.leader_ttl / 4);
  }
  if (ended === undefined && program !== undefined) {
    over.abort();
    await running;
    return undefined;
  }
  if (ended !== undefined && "error" in ended) throw notStarted(String(program), ended.error);
  return ended;
}

function notStarted(program: string, error: unknown): MidwatchError {
  return new MidwatchError("COMMAND_NOT_FOUND", `${program} cannot be started: ${toMidwatchError(error).message}.`, {
    hint: "Give its full path, or install it.",
    cause: error,
  });
}
