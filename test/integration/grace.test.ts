import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { until, workspaceIn } from "../support/run.ts";

it("R-002.18: what an agent starts to clean up after the first signal may finish within the grace", async () => {
  const place = folder();
  const workspace = workspaceIn(place);
  const cleaning = `sh -c 'sleep 0.4; echo saved > ${place}/flag'`;
  const { agent, log } = await workspace.runs.start({
    argv: ["sh", "-c", `trap "${cleaning}; exit 5" INT; echo ready; while :; do sleep 0.1; done`],
  });
  await until(() => readFileSync(log, "utf8") === "ready\n");
  const graceMs = patient(10_000);
  const [report] = await workspace.runs.stop([agent], { graceMs });
  expect(report).toMatchObject({ verified: true, outcome: "stopped", exit: { code: 5, signal: null } });
  expect(readFileSync(join(place, "flag"), "utf8")).toBe("saved\n");
  expect(report?.took_ms).toBeLessThan(graceMs);
});
