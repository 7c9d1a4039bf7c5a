/** Agents that ended while nobody looked: copies of one real run, under names and tasks of their own. No vitest in here: the bench uses it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunRecord } from "../../../src/fleet/workspace.ts";

/** `driver`: what their intents say they were run by. Returns their ids. */
export function unseen(root: string, { agent, task }: RunRecord, count: number, driver = "command"): string[] {
  const paths = readdirSync(join(root, task), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !["cleanup.json", "AGENT_REGISTRY.json"].includes(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  const files = paths.map((path) => ({ path, content: readFileSync(join(root, path), "latin1") }));
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, path), content, { mode: 0o600, encoding: "latin1" });
  };
  return Array.from({ length: count }, (_, i) => {
    const number = (i + 1).toString(16);
    const id = `unseen-000000-${number.padStart(6, "0")}`;
    const ownTask = `TASK-20260101-000000-${number.padStart(8, "0")}`;
    const named = (text: string): string =>
      text.replaceAll(task, ownTask).replaceAll(agent, id).replace('"driver":"command"', `"driver":"${driver}"`);
    for (const { path, content } of files) write(named(path), named(content));
    write(`active/${id}.1`, `${ownTask}/runs/${id}/1\n`);
    return id;
  });
}
