/** Resources: what can be read by address, and what a version of each is, so that subscribers hear of changes. */
import {
  type McpServer,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { MidwatchError } from "../../core/errors.ts";
import { parseTaskId } from "../../core/ids.ts";
import { maskValue } from "../../core/mask/mask.ts";
import type { ListRecord } from "../../core/types.ts";
import type { LogRecord, Workspace } from "../../fleet/workspace.ts";
import { first, last, MOST } from "./bounds.ts";
import type { Served } from "./calls.ts";
import { agentReply } from "./records.ts";

const TASKS = "tasks://list";
const JSON_TYPE = "application/json";

export function addResources(server: McpServer, served: Served): void {
  const workspace = (): Workspace | undefined => {
    try {
      const { workspace: open, caller } = served.served(false);
      return open.as(caller);
    } catch (error) {
      // Nobody has run anything here yet: the lists are empty.
      if (error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE") return undefined;
      throw error;
    }
  };
  server.registerResource(
    "tasks",
    TASKS,
    { title: "Tasks", description: "All tasks, newest first", mimeType: JSON_TYPE },
    async (uri) => json(uri, await tasksList(workspace())),
  );
  server.registerResource(
    "task",
    new ResourceTemplate("task://{id}/status", {
      list: async () => ({
        resources: (workspace()?.runs.tasks() ?? []).slice(0, MOST).map(({ task, description }) => ({
          uri: `task://${task}/status`,
          name: task,
          title: maskValue(description.split("\n")[0]?.slice(0, 100) ?? "") as string,
          mimeType: JSON_TYPE,
        })),
      }),
    }),
    { title: "Status of a task", description: "A task with its agents and what they reported", mimeType: JSON_TYPE },
    (uri, { id }) => found(uri, workspace(), async (open) => json(uri, await taskStatus(open, String(id)))),
  );
  server.registerResource(
    "log",
    new ResourceTemplate("agent://{id}/log", {
      list: async () => ({
        resources: ((await workspace()?.runs.list()) ?? []).slice(0, MOST).map(({ agent, role }) => ({
          uri: `agent://${agent}/log`,
          name: agent,
          ...(role === null ? {} : { title: role }),
          mimeType: "application/x-ndjson",
        })),
      }),
    }),
    { title: "Log of an agent", description: `The last ${MOST} records it printed`, mimeType: "application/x-ndjson" },
    (uri, { id }) =>
      found(uri, workspace(), async (open) => {
        const { items } = await last(records(open, String(id)));
        const text = items.map((record) => `${JSON.stringify(record)}\n`).join("");
        return { contents: [{ uri: uri.href, mimeType: "application/x-ndjson", text }] };
      }),
  );
}

/** What each resource is now: an address whose version differs has changed. */
export async function versions(workspace: Workspace): Promise<Map<string, string>> {
  const agents = await workspace.runs.list();
  const tasks = workspace.runs.tasks();
  const found = new Map([[TASKS, `${tasks.length} ${agents.map(stateOf).join()}`]]);
  for (const [task, of] of Map.groupBy(agents, (agent) => agent.task)) {
    const [said] = workspace.mail.reports(task, 1).progress;
    found.set(`task://${task}/status`, `${of.map(stateOf).join()} ${said?.timestamp ?? ""}`);
  }
  for (const one of agents) found.set(`agent://${one.agent}/log`, `${one.run}:${one.bytes}`);
  return found;
}

function stateOf({ agent, run, phase, outcome, verdict }: ListRecord): string {
  return [agent, run, phase, outcome, verdict].join(" ");
}

async function tasksList(workspace: Workspace | undefined) {
  const agents = (await workspace?.runs.list({ all: true })) ?? [];
  const tasks = (workspace?.runs.tasks() ?? []).map(({ task, description, created_at, priority }) => {
    const of = agents.filter((agent) => agent.task === task);
    const active = of.filter(({ outcome, phase }) => outcome === null && phase !== "launch_failed").length;
    return { task_id: task, description: maskValue(description), created_at, priority, agents: of.length, active };
  });
  const { items, truncated } = await first(tasks);
  return { tasks: items, truncated };
}

async function taskStatus(workspace: Workspace, id: string) {
  const task = parseTaskId(id);
  const fact = workspace.runs.tasks().find((one) => one.task === task);
  if (fact === undefined) throw new MidwatchError("NOT_FOUND_TASK", `There is no task ${task}.`);
  const { items, truncated } = await first((await workspace.runs.list({ all: true, task })).map(agentReply));
  return {
    task_id: task,
    description: maskValue(fact.description),
    created_at: fact.created_at,
    agents: items,
    truncated,
    ...workspace.mail.reports(task, 10),
  };
}

async function* records(workspace: Workspace, agent: string): AsyncGenerator<LogRecord> {
  const hide = workspace.logs.maskers();
  for await (const item of workspace.logs.read(agent, { lines: MOST })) {
    const record = hide.record(item);
    if (record !== undefined) yield record;
  }
}

function json(uri: URL, value: unknown): ReadResourceResult {
  return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}

async function found(
  uri: URL,
  workspace: Workspace | undefined,
  read: (workspace: Workspace) => Promise<ReadResourceResult>,
): Promise<ReadResourceResult> {
  try {
    if (workspace !== undefined) return await read(workspace);
  } catch (error) {
    if (!(error instanceof MidwatchError && /^(NOT_FOUND|BAD_ID|AMBIGUOUS)/.test(error.code))) throw error;
  }
  throw new ResourceNotFoundError(uri.href);
}
