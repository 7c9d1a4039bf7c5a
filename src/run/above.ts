/**
 * Who is above a new agent, and with which rights. What an agent was given is in its intent, a file in the project: one that may edit
 * can change it. So its rights are also in the environment with which its keeper was started, which the kernel keeps and no editing
 * reaches; where there is such a keeper, it alone is believed. Promised against agents without a shell of their own. Elsewhere than on
 * Linux, and for keepers of releases that did not have it, the intent has to do.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote } from "../core/ids.ts";
import { isFields, parseJson } from "../core/json.ts";
import { locate } from "../facts/locate.ts";
import { keeperVariables } from "../process/identity.ts";
import { RIGHTS } from "../process/keeper.ts";
import type { AgentRow } from "../registry/registry.ts";
import { callingAgent, isBelow } from "../workspace/caller.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { isDeclared } from "../workspace/find-driver.ts";
import { parentId, type StartOptions } from "./launch-plan.ts";
import { type Above, leastPermission, permissionBelow, type Rights, rightsOf } from "./rights-plan.ts";

/** What was asked for, as far as it is granted. */
export interface Granted {
  options: StartOptions;
  parent: AgentRow | undefined;
  above: readonly Above[];
}

/** Before anything of it is loaded or made. */
export function grant(context: Context, options: StartOptions): Granted {
  const caller = callingAgent(context);
  const id = parentId(caller, options.parent, (one, above) => isBelow(context, one, above));
  if (id === undefined) return { options, parent: undefined, above: [] };
  const above = [...new Set([caller ?? id, id])].map((agent) => rightsNow(context, agent, agent === caller));
  const [first] = above;
  // A server's own folder means nothing to an agent that asks it: its paths begin where it works.
  const from = context.caller?.agent === undefined ? context.cwd : (first?.cwd ?? context.cwd);
  const cwd = realFolder(resolve(from, options.cwd ?? "."));
  const driver = options.driver ?? "command";
  const permission = permissionBelow(
    above.map((one) => ({ ...one, cwd: realFolder(one.cwd) })),
    { ...options, driver, declared: isDeclared(context, driver), cwd },
  );
  return { options: { ...options, cwd, permission }, parent: parentRow(context, id), above };
}

/** Whether who asks could read any file of the user's without us: a person, or an agent that may do everything. */
export function readsAll(context: Context): boolean {
  const caller = callingAgent(context);
  return caller === undefined || rightsNow(context, caller, true).permission === "all";
}

function rightsNow(context: Context, agent: AgentId, asks: boolean): Above {
  const row = parentRow(context, agent);
  const { facts, listed } = locate(context, row.id);
  const told = keeperVariables(`${agent}.${listed.run.run}`, RIGHTS);
  // An agent that asks lives, and a keeper above it: a record without one was made by somebody else, or is about to be taken over.
  if ((asks && told.length === 0) || facts.intent === undefined)
    throw new MidwatchError(
      "REFUSED_RIGHT",
      `Nobody can tell what the agent ${quote(agent)} may do: it has no keeper.`,
      {
        hint: "`midwatch ls` gives it another one, if it lives; then try again.",
      },
    );
  const known = told.map((text) => parseJson(text ?? "")).filter(isFields) as unknown as Rights[];
  const rights = known[0] ?? rightsOf(facts.intent);
  // A process that only looks like another keeper of it adds nothing.
  return { ...rights, permission: leastPermission([rights, ...known].map(({ permission }) => permission)), agent };
}

function parentRow(context: Context, id: AgentId): AgentRow {
  const listed = withReader(context, (registry) => registry.get(id));
  if (listed !== undefined) return listed.agent;
  throw new MidwatchError("NOT_FOUND_AGENT", `The parent ${quote(id)} is not in this workspace.`, {
    hint: "`midwatch ls --all` lists the agents.",
  });
}

/** One that is not there is told of by who looks for it. */
function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
