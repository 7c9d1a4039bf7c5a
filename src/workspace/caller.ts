/**
 * Who asks. A person may do everything. An agent may report for itself, start agents below it and stop those, and send messages
 * to agents of its task, nothing else. An agent is recognised by the keeper above it, whatever its environment says; one that asks
 * from elsewhere shows its capability. An agent of another workspace is no person here, unless it may do everything: then it could reach
 * all of this without us. A door that serves others says who asks: what is above the server tells nothing of them. This keeps agents from
 * stopping each other by mistake; it is no wall against a hostile one of the same user.
 */
import { createHash } from "node:crypto";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, isAgentId, quote } from "../core/ids.ts";
import type { Permission } from "../core/intent.ts";
import { parseJson } from "../core/json.ts";
import type { ClaimFact } from "../core/types.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { readJson } from "../disk/replace.ts";
import { keepersAbove, keeperVariables } from "../process/identity.ts";
import { RIGHTS } from "../process/keeper.ts";
import { type Context, withReader } from "./context.ts";

/** Undefined is a person. */
export function callingAgent(context: Context): AgentId | undefined {
  if (context.caller !== undefined) return context.caller.agent;
  const { MIDWATCH_AGENT: agent, MIDWATCH_CAPABILITY: value } = context.env;
  return agentAbove(context) ?? (value ? agentByCapability(context, agent, value) : undefined);
}

/**
 * The innermost keeper above us that has a claim in this workspace: an argument list alone could be anybody's. When there is a keeper of
 * this workspace and no claim tells so, somebody changed the claim, who may well be the agent: it is no person for that.
 */
function agentAbove(context: Context): AgentId | undefined {
  let unknown: string | undefined;
  let stranger: string | undefined;
  for (const { pid, start_ticks, name, nonce, variable } of keepersAbove()) {
    const mark = parseActiveMark(name);
    if (!mark) continue;
    const listed = withReader(context, (registry) => registry.get(mark.agent));
    const { root, permission } = keptIn(variable(RIGHTS));
    if (listed || root === context.layout.root) unknown ??= mark.agent;
    else if (root !== undefined && permission !== "all") stranger ??= mark.agent;
    if (!listed) continue;
    const paths = context.layout.run(listed.agent.task, mark.agent, mark.run);
    const claims = [paths.claim, paths.adopt].map((path) => readJson<ClaimFact>(path).value);
    if (claims.some((claim) => claim?.pid === pid && claim.start_ticks === start_ticks && claim.nonce === nonce))
      return mark.agent;
  }
  if (unknown === undefined && stranger !== undefined)
    throw new MidwatchError(
      "REFUSED_RIGHT",
      `${quote(stranger)} is an agent of another workspace: it may not act here.`,
      {
        hint: "Ask the person who started it, or give it --permission all.",
      },
    );
  if (unknown === undefined) return undefined;
  throw new MidwatchError(
    "REFUSED_RIGHT",
    `This is below a keeper of ${quote(unknown)}, whose claim is gone or changed.`,
    {
      hint: "What cannot be told to be a person is none: ask from a terminal of your own.",
    },
  );
}

/** What a keeper knows of its agent since it was started: the kernel keeps it, and no edit of a fact, nor a registry made of edited ones, changes it. */
interface Kept {
  root?: string;
  permission?: Permission;
  parent?: AgentId | null;
  capability?: string | null;
}

/** Nothing of a keeper of an older release, of one that is gone, and elsewhere than on Linux. */
function keptIn(rights: string | undefined): Kept {
  return (rights === undefined ? {} : (parseJson(rights) ?? {})) as Kept;
}

/** What is registered of an agent, as far as its keeper does not know better. */
function knownOf(context: Context, agent: AgentId): Required<Pick<Kept, "parent" | "capability">> | undefined {
  const listed = withReader(context, (registry) => registry.get(agent));
  if (listed === undefined) return undefined;
  const { parent, capability } = listed.agent;
  return { parent, capability, ...keptIn(keeperVariables(`${agent}.${listed.run.run}`, RIGHTS)[0]) };
}

/** The agent, if this is the capability that its newest run was given. */
export function agentByCapability(context: Context, agent: unknown, value: string): AgentId | undefined {
  if (!isAgentId(agent)) return undefined;
  const known = knownOf(context, agent)?.capability;
  // Hashes are compared: how long that takes tells nothing about the value.
  return known === capabilityHash(value) ? agent : undefined;
}

export function capabilityHash(value: string): string {
  return createHash("sha256").update(value).digest("hex");
}

/** For what an agent may not do at all. */
export function assertPerson(context: Context, what: string): void {
  const agent = callingAgent(context);
  if (agent !== undefined) refuse(agent, what);
}

/** For what an agent may do to those that it started, and they. */
export function assertAbove(context: Context, targets: readonly AgentId[], what: string): void {
  const agent = callingAgent(context);
  if (agent === undefined) return;
  for (const target of targets) if (!isBelow(context, target, agent)) refuse(agent, `${what} ${target}`);
}

/** For what an agent may do to those that work on its task. */
export function assertMate(context: Context, target: AgentId, what: string): void {
  const agent = callingAgent(context);
  if (agent === undefined) return;
  const [own, other] = withReader(context, (registry) => [registry.get(agent), registry.get(target)]);
  if (own === undefined || own.agent.task !== other?.agent.task) refuse(agent, `${what} ${target}`);
}

/** For what an agent may do for itself. */
export function assertSelf(context: Context, target: AgentId, what: string): void {
  const agent = callingAgent(context);
  if (agent !== undefined && agent !== target) refuse(agent, `${what} ${target}`);
}

export function isBelow(context: Context, target: AgentId, above: AgentId): boolean {
  const seen = new Set<AgentId>();
  for (let at: AgentId | null = target; at !== null && !seen.has(at); ) {
    seen.add(at);
    const parent: AgentId | null = knownOf(context, at)?.parent ?? null;
    if (parent === above) return true;
    at = parent;
  }
  return false;
}

export function refuse(agent: AgentId, what: string): never {
  throw new MidwatchError("REFUSED_RIGHT", `The agent ${quote(agent)} may not ${what}.`, {
    hint: "An agent may report for itself, start agents below it and stop those, and send messages on its task. Ask the person who started it.",
  });
}
