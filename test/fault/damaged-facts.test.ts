import { readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lab } from "../support/lab.ts";
import { type Lab, until } from "../support/workspace.ts";

const DAMAGES = {
  deleted: (path: string) => rmSync(path),
  emptied: (path: string) => truncateSync(path, 0),
  "cut in half": (path: string) => truncateSync(path, statSync(path).size >> 1),
};

/** Names of all files of a run, without its ids. */
const FILES = {
  ended: ["claim", "done.json", "exit.json", "intent.json", "secrets.json", "start.json"],
  running: ["ballast", "claim", "intent.json", "members", "secrets.json", "start.json"],
};

async function begun(at: Lab, state: keyof typeof FILES): Promise<{ agent: string; folder: string }> {
  const { agent, task } = await at.sh(state === "running" ? "echo hi; exec sleep 300" : "echo hi");
  const folder = join(at.root, task, "runs", agent, "1");
  await until(() => FILES[state].every((name) => readdirSync(folder).includes(name)), 10_000, "the run has its facts");
  return { agent, folder };
}

describe("a fact that somebody damaged", () => {
  for (const state of ["ended", "running"] as const)
    it(`R-004.3: whichever it is, a stop ends the ${state} run with proof`, async () => {
      const at = lab();
      for (const name of FILES[state])
        for (const [how, damage] of Object.entries(DAMAGES)) {
          const { agent, folder } = await begun(at, state);
          damage(join(folder, name));
          const [report] = await at.workspace.runs.stop([agent], { graceMs: 0 });
          expect([name, how, report?.verified, report?.left]).toEqual([name, how, true, []]);
        }
    });
});
