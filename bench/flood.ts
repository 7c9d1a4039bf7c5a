/**
 * What people who ask `midwatch up` feel while agents flood it: the watch reads every line in the same process. Beside it the same
 * question to the same process before the flood.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { digits, quantile, times } from "./support/figures.ts";
import { ended } from "./support/process.ts";
import { type Options, type Row, row } from "./support/row.ts";

const CLI = fileURLToPath(new URL("../src/doors/cli/midwatch.ts", import.meta.url));
const FLOODERS = 8;
/** About 4,000 lines a second each, 100 bytes long. */
const FLOOD = `while :; do seq -f '{"n":%.0f,"pad":"${"x".repeat(80)}"}' 200; sleep 0.05; done`;
const PAUSE_MS = 50;

export async function bench({ dir, quick, say }: Options): Promise<Row[]> {
  const windowMs = quick ? 3000 : 15_000;
  const root = join(dir, "workspace");
  using workspace = openWorkspace({ workspace: root, make: true, config: { grace: "0" } });
  const up = spawn(process.execPath, [CLI, "up", "--port", "0", "--json", "--workspace", root], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const over = ended(up);
  const agents: string[] = [];
  try {
    const [line] = (await once(createInterface({ input: up.stdout }), "line")) as [string];
    const url = new URL("/api/ls", (JSON.parse(line) as { link: string }).link);
    const headers = { authorization: `Bearer ${workspace.http.token()}` };
    const idle = await asked(url, headers, windowMs);
    for (let i = 0; i < FLOODERS; i++) agents.push((await workspace.runs.start({ argv: ["sh", "-c", FLOOD] })).agent);
    say(`${FLOODERS} agents flood, ${windowMs / 1000} s`);
    await sleep(2000);
    const flooded = await asked(url, headers, windowMs);
    const [mine, before] = [quantile(flooded, 0.99), quantile(idle, 0.99)];
    return [
      row({
        promise: "up beside a flood",
        figure: `p99 of GET /api/ls while ${FLOODERS} agents print 4,000 lines a second each`,
        measured: `${digits(mine)} ms (median ${digits(quantile(flooded, 0.5))}, most ${digits(Math.max(...flooded))})`,
        peer: `the same without: ${digits(before)} ms (median ${digits(quantile(idle, 0.5))})`,
        ratio: times(mine / before),
        note: "agents, keepers and the asker share the machine's cores with it",
      }),
    ];
  } finally {
    await workspace.runs.stop(agents, { graceMs: 0 });
    up.kill("SIGTERM");
    await over;
  }
}

async function asked(url: URL, headers: Record<string, string>, forMs: number): Promise<number[]> {
  const took: number[] = [];
  for (const until = performance.now() + forMs; performance.now() < until; await sleep(PAUSE_MS)) {
    const begun = performance.now();
    await (await fetch(url, { headers })).text();
    took.push(performance.now() - begun);
  }
  return took;
}
