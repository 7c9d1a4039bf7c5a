/** Agents that ended while nobody looked: copies of one real run, under names and tasks of their own. No vitest in here: the bench uses it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunRecord } from "../../../src/fleet/workspace.ts";

interface File {
  path: string;
  content: string;
}

/** The facts of a sealed run as they lay in its folder before anybody looked. */
function asEnded(path: string, content: string): File[] {
  if (!/\/runs\/[^/]+\/\d+\.json$/.test(path)) return [{ path, content }];
  const { facts } = JSON.parse(content) as { facts: Record<string, object> };
  const { "cleanup.json": _, ...before } = facts;
  const folder = path.slice(0, -".json".length);
  return Object.entries(before).map(([name, fact]) => ({
    path: join(folder, name),
    content: `${JSON.stringify(fact)}\n`,
  }));
}

/** `driver`: what their intents say they were run by; `together`: all on the task of the real one. Returns their ids. */
export function unseen(
  root: string,
  { agent, task }: RunRecord,
  count: number,
  driver = "command",
  together = false,
): string[] {
  const paths = readdirSync(join(root, task), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "AGENT_REGISTRY.json")
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  const files = paths.flatMap((path) => asEnded(path, readFileSync(join(root, path), "latin1")));
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, path), content, { mode: 0o600, encoding: "latin1" });
  };
  return Array.from({ length: count }, (_, i) => {
    const number = (i + 1).toString(16);
    const id = `${together ? "together" : "unseen"}-000000-${number.padStart(6, "0")}`;
    const ownTask = together ? task : `TASK-20260101-000000-${number.padStart(8, "0")}`;
    const named = (text: string): string =>
      text.replaceAll(task, ownTask).replaceAll(agent, id).replace('"driver":"command"', `"driver":"${driver}"`);
    for (const { path, content } of files) write(named(path), named(content));
    write(`active/${id}.1`, `${ownTask}/runs/${id}/1\n`);
    return id;
  });
}
