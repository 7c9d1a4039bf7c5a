/** What a stop does next. Pure: what was seen and what was done so far always give the same steps. */
import type { AgentId } from "../core/ids.ts";
import type { Report, StopFact } from "../core/types.ts";
import type { Facts } from "../facts/facts.ts";
import { hasEnded, phaseNow } from "../facts/observe.ts";
import type { Scanned } from "../process/keeper.ts";
import type { AuditEvent } from "../workspace/audit.ts";
import type { RunName } from "../workspace/context.ts";

/** Beyond the grace the keeper needs moments; after this a keeper without an answer is taken for wedged. */
const WEDGED_MS = 2000;
const NUDGE_MS = 1000;
/** To the second try of an adoption; twice as long to each that follows. */
const ADOPT_MS = 100;
/** A keeper says who is stuck after 3 s of SIGKILL. */
const STUCK_MS = 4000;
const TOLD_AT_TRY = 3;

type Left = Report["left"][number];

interface KeeperLook {
  nowMs: number;
  /** In another pid namespace. */
  elsewhere: boolean;
  /** The pid of the keeper or adopter that lives. */
  keeper: number | undefined;
  /** That one is stopped by a signal or a debugger: it will not go on by itself. Asked only when it decides. */
  isStanding(): boolean;
}

/** What was done to the run so far. */
export interface Urged {
  begunMs: number;
  graceMs: number;
  /** The pid of the keeper that was asked. */
  asked?: number;
  nudgedMs?: number;
  adoptedMs: number[];
  replacedMs?: number;
}

/** `nudge` wakes a keeper that stands. Over without a `problem`, it is known to be so, or its keeper says who is stuck. */
interface Next {
  step?: "adopt" | "ask" | "nudge";
  over?: boolean;
  problem?: string;
}

export function nextStep(facts: Facts, { nowMs, keeper, elsewhere }: KeeperLook, urged: Urged): Next {
  const { nudgedMs = urged.begunMs, adoptedMs } = urged;
  if (hasEnded(facts) || (facts.stuck && nowMs > deadlineOf(urged))) return { over: true };
  if (elsewhere) return { over: true, problem: "it runs in another pid namespace: stop it from there" };
  if (keeper !== undefined) {
    if (urged.asked !== keeper) return { step: "ask" };
    return nowMs > nudgedMs + NUDGE_MS ? { step: "nudge" } : {};
  }
  // One that is sent away, or dies at once, would be sent away again: each try is a process.
  const pause = ADOPT_MS * 2 ** (adoptedMs.length - 1);
  return nowMs >= (adoptedMs.at(-1) ?? Number.NEGATIVE_INFINITY) + pause ? { step: "adopt" } : {};
}

/** After that step. `replace`: its keeper makes no progress, so another one takes over and ends the run by verified scan rounds. */
export function lastStep({ nowMs, keeper, isStanding }: KeeperLook, urged: Urged): "replace" | "give up" | undefined {
  const { replacedMs } = urged;
  const deadline = deadlineOf(urged);
  const late = nowMs > (replacedMs === undefined ? deadline : replacedMs + WEDGED_MS) + STUCK_MS;
  if (keeper !== undefined && replacedMs === undefined && nowMs > deadline && (isStanding() || late)) return "replace";
  return late ? "give up" : undefined;
}

function deadlineOf({ begunMs, graceMs }: Urged): number {
  return begunMs + graceMs + WEDGED_MS;
}

/** What became of one agent; its own failure never costs another its receipt. */
export type Tried = { report: Report } | { agent: AgentId; error: unknown };

/** Those below the named agents, each once. */
export function whoFirst(below: readonly AgentId[], named: readonly AgentId[]): AgentId[] {
  return [...new Set(below)].filter((agent) => !named.includes(agent));
}

/** Whatever the agents started while their children were being stopped; not again what could not be stopped. */
export function whoElse(below: AgentId[], tried: Tried[], lives: (agent: AgentId) => boolean): AgentId[] {
  const givenUp = tried.flatMap((one) => ("error" in one ? [one.agent] : []));
  return whoFirst(below, givenUp).filter(lives);
}

/** What follows once nothing more is done to its processes: only what is proven gone is cleaned up after. */
export function endingOf(
  facts: Facts,
  members: Scanned[] | null,
  purge = false,
): { verified: boolean; retires: boolean; forgets: boolean } {
  const neverStarted = phaseNow(facts) === "launch_failed";
  // Its keeper was in doubt about somebody; now nobody is left to be in doubt about.
  const verified = members?.length === 0 && (facts.done !== undefined || neverStarted);
  // Given up before it had an intent: the folders know no such run, and so the registry must not either.
  return { verified, retires: purge && verified, forgets: neverStarted && !facts.intent };
}

/** Who is left of a run that is not proven to be over: by its keeper's word, by the last look, or `unknown`. */
export function leftOf({ stuck, done }: Facts, members: Scanned[] | null, unknown: Left): Left[] {
  const seen = (members ?? []).map(({ pid, name, uid, why }): Left => ({ pid, name, uid, why: why ?? unknown.why }));
  return [stuck?.left ?? [], seen, done?.left ?? [], [unknown]].find((left) => left.length > 0) as Left[];
}

/** A stop without proof is told, and as an error when it is the third of the same run: then nobody will get it to end this way. */
export function failureEvents(
  { task, agent, run }: RunName,
  asked: StopFact | undefined,
  why: string,
  left: readonly Left[],
  most: number,
): AuditEvent[] {
  const tries = asked?.tries ?? 1;
  const content = `${agent} could not be stopped with proof (${tries} times): ${why}${leftWords(left, most)}`;
  const event = { content, task, agent, data: { run, tries, why } };
  return [{ type: "stop.failed", ...event }, ...(tries === TOLD_AT_TRY ? [{ type: "error" as const, ...event }] : [])];
}

function leftWords(left: readonly Left[], most: number): string {
  const named = left.slice(0, most).map(({ pid, name }) => (name === "" ? `${pid}` : `${pid} ${name}`));
  const more = left.length > named.length ? [`${left.length - named.length} more`] : [];
  return left.length === 0 ? "" : `; left: ${[...named, ...more].join(", ")}`;
}
