/** How busy the processes below keepers are. One look at the process table serves any number of runs. */
import { readdirSync, readFileSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";

export interface TreeUse {
  /** CPU time of all living processes of the tree, in ticks of 10 ms. */
  ticks: number;
  /** Processes below the main one that were started later than `BESIDE_TICKS` after it. */
  children: number;
  /** The main process is stopped by a signal. */
  stopped: boolean;
}

interface Row {
  pid: number;
  parent: number;
  state: string;
  ticks: number;
  start: number;
}

/** Servers that a CLI starts for itself (MCP, language servers) come up with it and stay: they are no work. */
const BESIDE_TICKS = 1000;

/** By keeper pid; a keeper that is gone has no entry. `main` is the agent's main process. */
export function treeUse(runs: readonly { keeper: number; main: number }[]): Map<number, TreeUse> {
  if (process.platform !== "linux") return new Map(); // Not known: silence is judged without it.
  const below = new Map<number, Row[]>();
  const byPid = new Map<number, Row>();
  for (const row of processes()) {
    byPid.set(row.pid, row);
    const siblings = below.get(row.parent);
    if (siblings === undefined) below.set(row.parent, [row]);
    else siblings.push(row);
  }
  const found = new Map<number, TreeUse>();
  for (const { keeper, main } of runs) {
    if (!byPid.has(keeper)) continue;
    const rows = descendants(below, keeper);
    const first = byPid.get(main);
    found.set(keeper, {
      ticks: rows.reduce((sum, { ticks }) => sum + ticks, 0),
      children: rows.filter(({ pid, start }) => pid !== main && start > (first?.start ?? 0) + BESIDE_TICKS).length,
      stopped: first?.state === "T" || first?.state === "t",
    });
  }
  return found;
}

function descendants(below: ReadonlyMap<number, readonly Row[]>, root: number): Row[] {
  const found: Row[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const row of below.get(pid) ?? []) {
      found.push(row);
      open.push(row.pid);
    }
  }
  return found;
}

function* processes(): Generator<Row> {
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    let text: string;
    try {
      text = readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch (error) {
      throwIfExhausted(error);
      continue; // It has ended.
    }
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state = "X", parent] = fields;
    if (state === "Z" || state === "X") continue;
    const ticks = Number(fields[11]) + Number(fields[12]);
    yield { pid, parent: Number(parent), state, ticks, start: Number(fields[19]) };
  }
}
