/** An event for each change that came through the server: who, what and on what; never what was said. */
import { type AgentId, isAgentId, isTaskId } from "../../core/ids.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import type { Change } from "../../operations/operation.ts";

export function tellJournal(workspace: Workspace, { operation, input, by, error }: Change): void {
  if (error === null && isTold(operation, by)) return;
  const { agent, agents, task, parent } = (input ?? {}) as Record<string, unknown>;
  const named = [agent, ...(Array.isArray(agents) ? agents : []), task, parent];
  const targets = named.filter((one): one is string => isAgentId(one) || isTaskId(one)).slice(0, 20);
  const who = by ?? "a person";
  workspace.http.audit({
    content: `${who} asked for ${operation}${targets.length > 0 ? ` of ${targets.join(", ")}` : ""} over HTTP${error === null ? "" : `: ${error}`}`,
    ...(isAgentId(targets[0]) ? { agent: targets[0] as AgentId } : {}),
    data: { by: who, operation, targets, error },
  });
}

/** An event, and what an agent says of itself, is in the journal already. */
function isTold(operation: string, by: AgentId | undefined): boolean {
  return operation === "event" || (by !== undefined && (operation === "progress" || operation === "finding"));
}
