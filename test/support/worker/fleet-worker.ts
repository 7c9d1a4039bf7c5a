// `fleet-worker.ts ROOT COUNT NAME`: starts COUNT agents one after another, short ones, lists and reaps between, waits for all,
// and sends the records.
import { openWorkspace, type RunRecord } from "../../../src/fleet/workspace.ts";
import { patient } from "../patience.ts";

const [root = "", count = "0", name = ""] = process.argv.slice(2);
using workspace = openWorkspace({ workspace: root, make: true });
const started: RunRecord[] = [];
await workspace.runs.list();
for (let i = 0; i < Number(count); i++) {
  const argv = i % 3 === 0 ? ["sleep", `0.${i % 10}`] : ["sh", "-c", `echo ${name} ${i}`];
  started.push(await workspace.runs.start({ argv, name: `${name}-${i % 2}` }));
  if (i % 4 === 1) await workspace.runs.list();
  if (i % 4 === 3) await workspace.runs.reap();
}
const ended = await workspace.runs.wait(
  started.map(({ agent }) => agent),
  { timeoutMs: patient(60_000) },
);
process.send?.({ started, ended: ended.map(({ runs, files, ...rest }) => ({ ...rest, files: files.length })) });
