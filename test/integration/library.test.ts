import { inspect } from "node:util";
import { expect, it } from "vitest";
import { FORMER_NAMES, openWorkspace } from "../../src/fleet/former-names.ts";
import { folder } from "../support/folder.ts";

it("an agent is started and waited for, with the names of 0.1 too", async () => {
  using workspace = openWorkspace({ make: true, cwd: folder() });
  const { agent } = await workspace.runs.start({ argv: ["true"], name: "build" });
  const [ended] = await workspace.runs.wait([agent]);
  expect(ended).toMatchObject({ agent, outcome: "completed", exit: { code: 0 } });
  const former = await workspace.run({ argv: ["true"], name: "former" });
  expect(await workspace.wait([former.agent])).toMatchObject([{ outcome: "completed" }]);
  expect((await workspace.list()).length).toBe((await workspace.runs.list()).length);
});

it("every name of 0.1 leads to a method that is there", () => {
  using workspace = openWorkspace({ make: true, cwd: folder() });
  const parts = workspace as unknown as Record<string, Record<string, unknown>>;
  for (const [name, [part, method]] of Object.entries(FORMER_NAMES)) {
    expect(parts[part]?.[method], `${name} is ${part}.${method}`).toBeTypeOf("function");
    expect(parts[name]).toBeTypeOf("function");
  }
});

it("a workspace that is printed shows nothing of the environment it was opened in", () => {
  const env = { ...process.env, HUB_PASSWORD: "not to be shown" };
  using workspace = openWorkspace({ make: true, cwd: folder(), env });
  expect(inspect(workspace, { depth: 9 })).not.toContain("not to be shown");
});
