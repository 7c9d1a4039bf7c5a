/** A workspace of many ended agents with small logs: one real run, and copies of it. */
import { appendFileSync } from "node:fs";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { unseen } from "../../test/support/data/unseen.ts";

const LINES = 40;

/** Returns the workspace's folder. Each log has about 4 KB; `needle` is in every hundredth. */
export async function manyAgents(folder: string, count: number, needle: string): Promise<string> {
  using workspace = openWorkspace({ workspace: folder, make: true });
  const { root } = workspace;
  const script = `for i in $(seq ${LINES}); do echo "line $i ${"of what an agent prints when it works ".repeat(3)}"; done`;
  const record = await workspace.runs.start({ argv: ["sh", "-c", script] });
  await workspace.runs.wait([record.agent]);
  unseen(root, record, count - 1);
  await workspace.runs.reap();
  const listed = await workspace.runs.list({ all: true });
  if (listed.length !== count) throw new Error(`the workspace has ${listed.length} agents, not ${count}`);
  for (const [i, { log }] of listed.entries()) if (i % 100 === 99) appendFileSync(log, `${needle} ${i}\n`);
  return root;
}
