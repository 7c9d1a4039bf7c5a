/**
 * Commands that scripts and people call again and again are loaded alone: the schemas of all the others, and what these import, would
 * be half of their time to start. What is not here is found in the whole table, and nothing else differs.
 */
import type { Operation } from "./operation.ts";
import { remotely } from "./remote.ts";

const ALONE: Readonly<Record<string, () => Promise<object>>> = {
  run: () => import("./run.ts"),
  status: () => import("./status.ts"),
  ls: () => import("./ls.ts"),
  show: () => import("./show.ts"),
  logs: () => import("./logs.ts"),
  wait: () => import("./wait.ts"),
  stop: () => import("./stop.ts"),
  send: () => import("./send.ts"),
  progress: () => import("./report.ts"),
  finding: () => import("./report.ts"),
  event: () => import("./event.ts"),
  events: () => import("./events.ts"),
  summary: () => import("./summary.ts"),
  search: () => import("./search.ts"),
  completion: () => import("./completion.ts"),
  version: () => import("./version.ts"),
};

/** Only what is needed for the command, where that is known. */
export async function operationsFor(command: string | undefined): Promise<readonly Operation[]> {
  const load = command !== undefined && Object.hasOwn(ALONE, command) ? ALONE[command] : undefined;
  if (load === undefined) return (await import("./index.ts")).operations;
  const found = Object.values(await load()).filter((one: Partial<Operation> | undefined) => one?.name === command);
  return (found as Operation[]).map(remotely);
}
