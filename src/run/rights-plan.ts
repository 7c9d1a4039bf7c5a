/**
 * What an agent may give a child. Pure: from the rights of those above it and what is asked for to its permission, or a refusal. An agent
 * that may do everything could start whatever it likes without us; any other hands on what it has, in its own folder and task, and
 * nothing that could be more: no command, no words for a CLI, no file of its choice.
 */
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote, type TaskId } from "../core/ids.ts";
import type { IntentFact, Permission } from "../core/intent.ts";

/** From the least to the most. */
const PERMISSIONS: readonly Permission[] = ["plan", "ask", "edit", "all"];

export interface Rights extends Pick<IntentFact, "driver" | "cwd" | "limits" | "limit_policy"> {
  permission: Permission;
  task: TaskId;
}

/** A plain command has a shell, or could be one: whatever its permission says, it may do everything. */
export function rightsOf(intent: IntentFact): Rights {
  const { driver, cwd, limits, limit_policy, task } = intent;
  return { permission: driver === "command" ? "all" : intent.permission, driver, task, cwd, limits, limit_policy };
}

/** What its keeper carries, for later: its rights, and who it is (`workspace/caller.ts`). */
export function carriedBy(root: string, intent: IntentFact): object {
  const { parent, capability } = intent;
  return { root, parent, capability, ...rightsOf(intent) };
}

export function leastPermission(some: readonly Permission[]): Permission {
  return PERMISSIONS.find((one) => some.includes(one)) ?? "plan";
}

function isMore(one: Permission, than: Permission): boolean {
  return PERMISSIONS.indexOf(one) > PERMISSIONS.indexOf(than);
}

/** What is asked for, as far as it matters here. */
export interface Wish {
  permission?: Permission | undefined;
  driver: string;
  /** The driver is one of midwatch.config.json. */
  declared: boolean;
  task?: TaskId | undefined;
  /** Its folder with all links followed. */
  cwd: string;
  args?: readonly string[] | undefined;
  stdin?: string | undefined;
  envFile?: string | undefined;
}

export type Above = Rights & { agent: AgentId };

/** What a run has that is told nothing else. */
const USUAL: Permission = "ask";

/** Without anybody above, a person asks. */
export function permissionBelow(above: readonly Above[], wish: Wish): Permission {
  for (const parent of above) {
    const more = wish.permission !== undefined && isMore(wish.permission, parent.permission);
    const what = more
      ? `the permission ${wish.permission}`
      : parent.permission === "all"
        ? undefined
        : beyond(parent, wish);
    if (what !== undefined) refuse(parent, what);
  }
  return wish.permission ?? leastPermission([USUAL, ...above.map(({ permission }) => permission)]);
}

/** What of it only an agent that may do everything can hand on. */
function beyond(parent: Above, wish: Wish): string | undefined {
  const { driver, task, cwd, args = [] } = wish;
  const inside = cwd === parent.cwd || cwd.startsWith(parent.cwd.endsWith("/") ? parent.cwd : `${parent.cwd}/`);
  if (driver === "command") return "a command";
  if (wish.declared && driver !== parent.driver) return `the driver ${quote(driver)}`;
  if (args.length > 0) return "further arguments for its CLI";
  if (wish.stdin !== undefined) return "an input file";
  if (wish.envFile !== undefined) return "an environment file";
  if (task !== undefined && task !== parent.task) return `the task ${task}`;
  return inside ? undefined : `the folder ${quote(cwd)}`;
}

function refuse({ agent, permission }: Above, what: string): never {
  throw new MidwatchError("REFUSED_RIGHT", `The agent ${quote(agent)} may not start an agent with ${what}.`, {
    hint: `Its own permission is ${permission}, and a child has no more: leave that out, or ask the person who started it.`,
    data: { permission },
  });
}
