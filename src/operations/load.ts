/**
 * Commands that scripts and people call again and again are loaded alone: the schemas of all the others, and what these import, would
 * be half of their time to start. What is not here is found in the whole table, and nothing else differs.
 */
import type { Operation } from "./operation.ts";
import { remotely } from "./remote.ts";

const ALONE: Readonly<Record<string, () => Promise<object>>> = {
  run: () => import("./run/run.ts"),
  status: () => import("./run/status.ts"),
  ls: () => import("./run/ls.ts"),
  show: () => import("./run/show.ts"),
  logs: () => import("./read/logs.ts"),
  wait: () => import("./run/wait.ts"),
  stop: () => import("./run/stop.ts"),
  send: () => import("./run/send.ts"),
  progress: () => import("./run/report.ts"),
  finding: () => import("./run/report.ts"),
  event: () => import("./journal/event.ts"),
  events: () => import("./journal/events.ts"),
  summary: () => import("./read/summary.ts"),
  search: () => import("./read/search.ts"),
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
