/** `doctor` tells what would let another user or an agent in. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { writeConfig } from "../support/trusted.ts";

async function told(folder: string, env = process.env): Promise<Record<string, string>> {
  const { stdout } = await midwatch(folder, ["doctor", "--json"], env);
  const checks = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)) as Record<string, string>[];
  return Object.fromEntries(checks.map(({ check, state, message }) => [check, `${state}: ${message}`]));
}

it("doctor warns of a workspace and a configuration that others can write", async () => {
  const at = lab();
  writeConfig(at.folder, { grace: "1s" });
  chmodSync(join(at.folder, "midwatch.config.json"), 0o600);
  expect(await told(at.folder)).toMatchObject({
    workspace: expect.stringMatching(/^ok/),
    configuration: expect.stringMatching(/^ok/),
    "state folder": expect.stringMatching(/^ok/),
  });
  chmodSync(at.root, 0o770);
  chmodSync(join(at.folder, "midwatch.config.json"), 0o664);
  expect(await told(at.folder)).toMatchObject({
    workspace: expect.stringMatching(/^warning: others than you can write/),
    configuration: expect.stringMatching(/^warning: others than you can write/),
  });
  chmodSync(at.root, 0o700);
});

it("doctor warns of a configuration that nobody trusted", async () => {
  const at = lab();
  writeFileSync(join(at.folder, "midwatch.config.json"), JSON.stringify({ worktree_setup: "true" }));
  expect((await told(at.folder))["configuration"]).toMatch(/^warning: .* is not trusted/);
});

it("doctor warns of a state folder in the project", async () => {
  const at = lab();
  mkdirSync(join(at.folder, "state"));
  const env = { ...process.env, XDG_STATE_HOME: join(at.folder, "state") };
  expect((await told(at.folder, env))["state folder"]).toMatch(/^warning: .* is in the project/);
});
