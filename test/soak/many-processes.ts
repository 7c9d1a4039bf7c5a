/** Eight processes that start agents in one new workspace at once: nothing twice, nothing lost, and the folders tell the same. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ListRecord } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { ended, Lab, supportFile } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const PROCESSES = 8;

/** `count` runs in each process. */
export function manyProcesses(count: number, seed = 0): Promise<Report> {
  return campaign(`${PROCESSES} processes at once`, PROCESSES * count, seed, async (fail, figures) => {
    const lab = new Lab();
    rmSync(lab.root, { recursive: true }); // They make the workspace too.
    try {
      const begun = performance.now();
      const started: RunRecord[] = [];
      await Promise.all(
        Array.from({ length: PROCESSES }, async (_, i) => {
          const child = lab.node(supportFile("worker/fleet-worker.ts"), lab.root, String(count), `w${i}`);
          child.once("message", (message) => {
            const sent = message as { started: RunRecord[]; ended: ListRecord[] };
            started.push(...sent.started);
            for (const { agent, phase, outcome } of sent.ended)
              if (phase !== "drained" || outcome !== "completed") fail(`worker ${i}: ${agent} is ${phase} ${outcome}`);
          });
          const { code, signal, stderr } = await ended(child);
          if (code !== 0) fail(`worker ${i} ended with ${signal ?? code}: ${stderr.slice(0, 2000)}`);
        }),
      );
      figures["runs a second"] = ((started.length / (performance.now() - begun)) * 1000).toFixed(1);
      const ids = new Set(started.map(({ agent }) => agent));
      if (ids.size !== PROCESSES * count) fail(`${ids.size} ids for ${PROCESSES * count} runs`);
      using workspace = lab.open();
      const list = await workspace.runs.list({ all: true });
      const missing = [...ids].filter((id) => !list.some(({ agent }) => agent === id));
      if (missing.length > 0) fail(`rows lost: ${missing.join(" ")}`);
      if (list.length !== ids.size) fail(`${list.length} rows for ${ids.size} agents`);
      for (const { agent, phase, outcome, exit } of list)
        if (phase !== "drained" || outcome !== "completed" || exit.code !== 0) fail(`${agent} is ${phase} ${outcome}`);
      const tasks = workspace.runs.tasks();
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(lab.root, `midwatch.db${suffix}`), { force: true });
      if (!isDeepStrictEqual(await workspace.runs.list({ all: true }), list))
        fail("ls differs after the database was deleted");
      if (!isDeepStrictEqual(workspace.runs.tasks(), tasks)) fail("tasks differ after the database was deleted");
    } finally {
      await lab.end();
    }
  });
}
