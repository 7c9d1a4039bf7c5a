/**
 * Who may ask for what: the one table of it. People may do everything. What stands as a person's is refused to agents here, whichever door they
 * come through; what an agent may do to some is refused for others by the room that does it, which knows whom it is about.
 */
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote } from "../core/ids.ts";
import { type Caller, openWorkspace, type Workspace } from "../fleet/workspace.ts";

/**
 * `person`: no agent at all. `self`: an agent for itself. `below`: for those that it started. `task`: for those on its task. `anybody`: it
 * looks at this workspace, or brings it up to date. A path of the caller's choice, a secret, the network or another host: a person.
 */
export type Right = "person" | "self" | "below" | "task" | "anybody";

export const RIGHTS: Readonly<Record<string, Right>> = {
  run: "below",
  status: "anybody",
  ls: "anybody",
  show: "anybody",
  logs: "anybody",
  page: "anybody",
  timeline: "anybody",
  diff: "anybody",
  watch: "anybody",
  summary: "anybody",
  cost: "anybody",
  budget: "anybody",
  "budget set": "person",
  "budget raise": "person",
  wait: "anybody",
  stop: "below",
  restart: "person",
  send: "task",
  messages: "anybody",
  attach: "anybody",
  task: "person",
  tasks: "anybody",
  claim: "self",
  progress: "self",
  finding: "self",
  event: "self",
  events: "anybody",
  snapshot: "anybody",
  checkpoint: "self",
  sync: "person",
  leader: "anybody",
  lead: "anybody",
  health: "anybody",
  "alert test": "person",
  "alert status": "person",
  up: "anybody",
  hosts: "person",
  drain: "person",
  "nats init": "person",
  metrics: "anybody",
  mcp: "anybody",
  "mcp install": "person",
  search: "anybody",
  verify: "anybody",
  archive: "person",
  restore: "person",
  "jsonl tail": "person",
  "jsonl page": "person",
  "jsonl count": "person",
  "jsonl verify": "person",
  "jsonl append": "person",
  reap: "anybody",
  prune: "person",
  pin: "person",
  doctor: "anybody",
  uninstall: "person",
  trust: "person",
  demo: "anybody",
  completion: "anybody",
  version: "anybody",
};

/** What a door knows of who asks. */
interface Asking {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  workspace: string | undefined;
  served?: { workspace: Workspace; caller: Caller } | undefined;
}

/** For every operation, before it begins. One that is not in the table is a person's. */
export function assertMay(asking: Asking, name: string): void {
  if ((RIGHTS[name] ?? "person") !== "person") return;
  const agent = ask(asking, (workspace) => workspace.caller().agent);
  if (agent !== undefined) refuse(agent, `ask for ${name}`);
}

/** For files that the caller names: whoever may not do everything gets to see and use none but its own. */
export function assertNamesFiles(asking: Asking): void {
  const agent = ask(asking, (workspace) => (workspace.runs.mayNameFiles() ? undefined : workspace.caller().agent));
  if (agent !== undefined) refuse(agent, "name files of its choice");
}

/** Nobody is an agent where there is no workspace. */
function ask<T>({ served, cwd, env, workspace }: Asking, of: (workspace: Workspace) => T): T | undefined {
  if (served !== undefined) return of(served.workspace.as(served.caller));
  try {
    using opened = openWorkspace({ workspace, cwd, env });
    return of(opened);
  } catch (error) {
    // Told by the operation itself, if it needs one.
    if (error instanceof MidwatchError && /^(NOT_FOUND_WORKSPACE|BAD_CONFIG|BAD_PATH)$/.test(error.code))
      return undefined;
    throw error;
  }
}

function refuse(agent: AgentId, what: string): never {
  throw new MidwatchError("REFUSED_RIGHT", `The agent ${quote(agent)} may not ${what}.`, {
    hint: "That is a person's: files, the network and what others depend on. Ask the person who started it.",
  });
}
