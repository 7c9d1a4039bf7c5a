import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { until, workspaceIn } from "../support/run.ts";

it("midwatch alone tells who needs a person, most urgent first, with the next command; then what runs", async () => {
  const project = folder();
  expect((await midwatch(project, [])).stdout).toContain("There is no workspace here yet");
  expect((await midwatch(project, ["--json"])).code).toBe(3);

  const workspace = workspaceIn(project, { tier: "subreaper" });
  const steady = await workspace.runs.start({ argv: ["sleep", "60"], name: "steady" });
  expect((await midwatch(project, [])).stdout).toMatch(/^Nobody needs you\.\n1 running\./);

  const lost = await workspace.runs.start({ argv: ["sleep", "60"], name: "orphan" });
  const failed = await workspace.runs.start({ argv: ["sh", "-c", "echo broken >&2; exit 3"], name: "broken" });
  const done = await workspace.runs.start({ argv: ["true"], name: "fine" });
  await workspace.runs.wait([failed.agent, done.agent], { timeoutMs: patient(20_000) });
  process.kill(lost.keeper_pid as number, "SIGKILL");
  await until(async () => (await workspace.runs.show(lost.agent)).phase === "lost");

  const said = JSON.parse((await midwatch(project, ["--json"])).stdout);
  expect(said.needs.map(({ agent, need, next }: Record<string, string>) => ({ agent, need, next }))).toEqual([
    { agent: lost.agent, need: "lost", next: `midwatch stop ${lost.agent}` },
    { agent: failed.agent, need: "failed", next: `midwatch logs --stderr ${failed.agent}` },
  ]);
  expect(said.needs[1].why).toBe("Run failed (exit 3).");
  expect(said).toMatchObject({ running: [{ agent: steady.agent }], queued: 0, ended: 1 });
  const text = await midwatch(project, ["status"]);
  expect(text.stdout).toContain("2 need you:");
  expect(text.stderr).toContain(`Next: midwatch stop ${lost.agent}`);
});
