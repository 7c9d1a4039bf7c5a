/** A workspace of many ended agents with small logs: one real run, and copies of its folder and files under other names. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openWorkspace } from "../../src/fleet.ts";

const LINES = 40;

/** Returns the workspace's folder. Each log has about 4 KB; `needle` is in every hundredth. */
export async function manyAgents(folder: string, count: number, needle: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const root = join(folder, ".agent-workspace");
  const first = await oneAgent(folder, root);
  const task = join(root, first.task);
  for (let i = 1; i < count; i++) {
    const name = first.agent.replace(/.{6}$/, i.toString(16).padStart(6, "0"));
    const renamed = (text: string): string => text.replaceAll(first.agent, name);
    cpSync(join(task, "runs", first.agent), join(task, "runs", name), { recursive: true });
    const facts = join(task, "runs", name, "1");
    for (const fact of readdirSync(facts).filter((file) => file.endsWith(".json")))
      writeFileSync(join(facts, fact), renamed(readFileSync(join(facts, fact), "utf8")));
    for (const file of readdirSync(join(task, "logs")).filter((file) => file.includes(first.agent)))
      cpSync(join(task, "logs", file), join(task, "logs", renamed(file)));
    if (i % 100 === 0) writeFileSync(join(task, "logs", `${name}_stream.jsonl`), `${needle} ${i}\n`, { flag: "a" });
  }
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(root, `midwatch.db${suffix}`), { force: true });
  using workspace = openWorkspace({ workspace: root, cwd: folder });
  await workspace.reap(); // Makes the registry again from the folders.
  const listed = await workspace.list({ all: true });
  if (listed.length !== count) throw new Error(`the workspace has ${listed.length} agents, not ${count}`);
  return root;
}

async function oneAgent(folder: string, root: string): Promise<{ agent: string; task: string }> {
  using workspace = openWorkspace({ workspace: root, cwd: folder, make: true });
  const script = `for i in $(seq ${LINES}); do echo "line $i ${"of what an agent prints when it works ".repeat(3)}"; done`;
  const { agent, task } = await workspace.run({ argv: ["sh", "-c", script] });
  await workspace.wait([agent]);
  return { agent, task };
}
