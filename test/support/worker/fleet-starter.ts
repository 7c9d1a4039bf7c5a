// `fleet-starter.ts ROOT STAYING ENDING FIFO`: starts STAYING agents that live for minutes and ENDING agents that end, each with
// its own code, when somebody has FIFO open for writing; sends their records and stays, to be killed.
import { openWorkspace, type RunRecord } from "../../../src/fleet/workspace.ts";

const [root = "", staying = "0", ending = "0", fifo = ""] = process.argv.slice(2);
const workspace = openWorkspace({ workspace: root });
const start = async (name: string, script: string): Promise<RunRecord> =>
  workspace.runs.start({ argv: ["sh", "-c", script, fifo], name });
const stay = Array.from({ length: Number(staying) }, (_, i) => `echo ${i}; exec sleep 300`);
const end = Array.from({ length: Number(ending) }, (_, i) => `echo ${i}; read x <"$0"; exit ${i % 5}`);
const records: { stays: RunRecord[]; ends: RunRecord[] } = { stays: [], ends: [] };
for (const script of stay) records.stays.push(await start("stays", script));
for (const script of end) records.ends.push(await start("ends", script));
process.send?.(records);
setInterval(() => undefined, 1000);
