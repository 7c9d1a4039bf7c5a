/** Who may make midwatch act: a person's word, recorded outside of every project, and nothing that lies in one. */
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sha256Of } from "../../src/trust/config-trust.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, text, until } from "../support/workspace.ts";

const asRoot = process.getuid?.() === 0;
if (!asRoot) console.warn("SKIPPED: a folder of another user can only be made by root.");

/** A module whose code leaves a file behind. */
function module(at: Lab, name: string, says: string): string {
  const code = `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify(join(at.folder, "loaded"))}, ${JSON.stringify(`${says}\n`)});
export default { name: "mine", program: "cat", install: null, json: false, mcp: false, knownVersions: [],
  launch: (request) => ({ argv: ["cat"], env: {}, stdin: request.prompt, session: null, files: [] }),
  reader: () => ({ read: () => [] }), judge: () => ({ outcome: "completed", reason: null }) };`;
  writeFileSync(join(at.folder, name), code);
  return join(at.folder, name);
}

const run = (at: Lab, ...more: string[]) => at.cli("run", "--driver", "mine", ...more, "hello");

it("an agent that may edit files writes midwatch.config.json, or changes what a person trusted: neither counts", async () => {
  const at = lab();
  module(at, "driver.mjs", "first");
  writeFileSync(join(at.folder, "midwatch.config.json"), JSON.stringify({ drivers: { mine: "./driver.mjs" } }));
  const refused = await run(at);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("midwatch trust")]);
  expect((await at.cli("trust")).code).toBe(0);
  expect((await run(at, "--name", "one")).code).toBe(0);
  expect(text(join(at.folder, "loaded"))).toContain("first");
  // The module changes, then the file itself.
  module(at, "driver.mjs", "second");
  expect((await run(at)).code).toBe(4);
  module(at, "driver.mjs", "first");
  expect((await run(at, "--name", "two")).code).toBe(0);
  writeFileSync(
    join(at.folder, "midwatch.config.json"),
    JSON.stringify({ drivers: { mine: "./driver.mjs" }, max_depth: 4 }),
  );
  const changed = await run(at);
  expect([changed.code, changed.stderr]).toEqual([4, expect.stringContaining("midwatch trust")]);
  expect(text(join(at.folder, "loaded"))).not.toContain("second");
});

it("a script trusts by hash; inside a run that has no effect", async () => {
  const at = lab();
  const path = module(at, "driver.mjs", "loaded");
  const config = JSON.stringify({ drivers: { mine: "./driver.mjs" } });
  writeFileSync(join(at.folder, "midwatch.config.json"), config);
  const hashes = [sha256Of(config), sha256Of(readFileSync(path))];
  const env = (given: string): NodeJS.ProcessEnv => ({ ...process.env, MIDWATCH_TRUST: given });
  const argv = ["run", "--workspace", at.root, "--driver", "mine", "--wait", "hello"];
  expect((await midwatch(at.folder, argv, env(hashes[0] as string))).code).toBe(4);
  expect((await midwatch(at.folder, argv, env(hashes.join(",")))).code).toBe(0);
  const inside = await at.sh(`MIDWATCH_TRUST=${hashes.join(",")} "${process.execPath}" "${CLI}" ls`);
  await at.workspace.runs.wait([inside.agent]);
  const { stdout } = await at.cli("logs", "--stderr", inside.agent);
  expect(stdout).toContain("is not trusted: drivers do not count");
});

it("a limit that a file nobody trusted sets counts where it is stricter than the default, and not where it allows more", async () => {
  const at = lab();
  writeFileSync(
    join(at.folder, "midwatch.config.json"),
    JSON.stringify({ max_depth: 2, max_children: 999, token_limit: 5, max_agents: 5000 }),
  );
  const { max_depth, max_children, token_limit, max_agents } = at.open().config;
  expect([max_depth, max_children, token_limit, max_agents]).toEqual([2, 20, 5, 1000]);
  const { stderr } = await at.cli("ls");
  expect(stderr).toContain("max_children, max_agents do not count");
});

it("an intent that somebody planted in a workspace of ours is queued for ever: `up` and `wait` start only what was asked for", async () => {
  const at = lab({ max_running: 1 });
  const holder = await at.sh("sleep 600");
  const asked = await at.workspace.runs.start({ argv: ["sh", "-c", "echo asked"], queue: true });
  const planted = await at.workspace.runs.start({ argv: ["sh", "-c", "echo asked"], queue: true });
  const victim = join(at.folder, "pwned");
  const path = join(at.runDir(planted), "intent.json");
  writeFileSync(path, JSON.stringify({ ...at.intent(planted), argv: ["touch", victim] }));
  await at.workspace.runs.stop([holder.agent]);
  const loop = at.open().up.loop();
  await until(async () => {
    await loop.round();
    return (await at.workspace.runs.show(asked.agent)).outcome === "completed";
  });
  await loop.round();
  expect(await at.workspace.runs.show(planted.agent)).toMatchObject({ phase: "intended", queued: true });
  expect(text(victim)).toBe("");
  const told = text(join(at.root, "events.log"))
    .split("\n")
    .filter((line) => line.includes("nobody here asked for it"));
  expect(told).toHaveLength(1);
  await at.workspace.runs.stop([planted.agent]);
});

it("a workspace that was moved or copied is only read, until a person takes it over", async () => {
  const at = lab();
  const ended = await at.sh("echo here");
  await at.workspace.runs.wait([ended.agent]);
  const copy = join(folder(), "project");
  mkdirSync(copy);
  cpSync(at.root, join(copy, ".agent-workspace"), { recursive: true });
  expect((await midwatch(copy, ["logs", ended.agent])).stdout).toBe("here\n");
  for (const argv of [
    ["run", "--", "true"],
    ["stop", ended.agent],
    ["up", "--once", "--no-http"],
    ["archive", ended.agent],
  ])
    expect((await midwatch(copy, argv)).code, argv.join(" ")).toBe(4);
  const taken = await midwatch(copy, ["trust", "--workspace", "--json"]);
  expect(JSON.parse(taken.stdout)).toMatchObject({ ours: true, recorded: "workspace", runs: [] });
  expect((await midwatch(copy, ["archive", ended.agent])).code).toBe(0);
  // The first one is as it was.
  expect((await at.cli("archive", ended.agent)).code).toBe(0);
  // Deleted and put back by somebody: another folder in its place.
  const aside = `${at.root}.aside`;
  cpSync(at.root, aside, { recursive: true });
  rmSync(at.root, { recursive: true });
  renameSync(aside, at.root);
  expect((await at.cli("stop", ended.agent)).code).toBe(4);
  expect((await at.cli("trust", "--workspace")).code).toBe(0);
});

it.skipIf(!asRoot)(
  "a workspace above us that belongs to another user is refused; the one who called sudo is not another",
  async () => {
    const at = lab();
    const below = join(at.folder, "a", "b");
    mkdirSync(below, { recursive: true });
    chownSync(at.root, 65534, 65534);
    for (const argv of [["ls"], ["run", "--", "true"]]) {
      const { code, stderr } = await midwatch(below, argv);
      expect([code, stderr]).toEqual([4, expect.stringContaining("belongs to another user")]);
    }
    expect((await midwatch(below, ["ls"], { ...process.env, SUDO_UID: "65534" })).code).toBe(0);
    chownSync(at.root, 0, 0);
    // A configuration of another user cannot be trusted.
    writeConfig(at.folder, { sync_remote: "origin" });
    writeFileSync(join(at.folder, "midwatch.config.json"), JSON.stringify({ sync_remote: "other" }));
    chownSync(join(at.folder, "midwatch.config.json"), 65534, 65534);
    const { code, stderr } = await at.cli("trust");
    expect([code, stderr]).toEqual([4, expect.stringContaining("belongs to another user")]);
  },
);

it("without a state folder that only we can write nothing is made, and the error says what to set", async () => {
  const state = folder();
  mkdirSync(join(state, "midwatch"));
  chmodSync(join(state, "midwatch"), 0o777);
  const cwd = folder();
  for (const XDG_STATE_HOME of [state, "/proc/nowhere"]) {
    const { code, stderr } = await midwatch(cwd, ["run", "--", "true"], { ...process.env, XDG_STATE_HOME });
    expect([code, stderr]).toEqual([5, expect.stringContaining("Set XDG_STATE_HOME")]);
  }
});

it("several that make a workspace at once: none takes what another is just writing for somebody else's", async () => {
  const root = join(folder(), ".agent-workspace");
  mkdirSync(join(root, "active"), { recursive: true });
  writeFileSync(join(root, ".workspace.json.0123456789ab.tmp"), "");
  expect((await midwatch(root, ["--workspace", root, "task", "mine"])).code).toBe(0);
});
