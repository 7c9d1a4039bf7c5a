import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { service } from "../../src/setup/service.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";

interface Row {
  what: string;
  path: string;
  action: string;
  backup: string | null;
}

/** A person who uses several MCP clients, with settings of their own around ours. */
const CLIENTS: Readonly<Record<string, string>> = {
  ".claude.json": '{\n  "mcpServers": {\n    "other": { "command": "o" }\n  },\n  "big": 12345678901234567890\n}\n',
  ".codex/config.toml": 'model = "x"\n\n# mine\n[mcp_servers.other]\ncommand = "o"\n',
  ".config/opencode/opencode.json": '{\n  // a comment\n  "theme": "dark"\n}\n',
};

async function person() {
  const home = folder();
  const project = join(folder(), "project");
  mkdirSync(project);
  for (const [name, text] of Object.entries(CLIENTS)) {
    mkdirSync(join(home, name, ".."), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const { CLAUDE_CONFIG_DIR: _, CODEX_HOME: __, XDG_CONFIG_HOME: ___, ...others } = process.env;
  const env = { ...others, HOME: home, PATH: "/usr/bin:/bin" };
  const ask = async (...argv: string[]) => await midwatch(project, argv, env);
  const rows = async (...argv: string[]): Promise<Row[]> =>
    (await ask(...argv, "--json")).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Row);
  return { home, project, env, ask, rows };
}

const named = ["claude", "codex", "opencode"].flatMap((name) => ["--client", name]);

it("uninstall takes back services and settings, each to its last byte, and says what stays", async () => {
  const { home, ask, rows } = await person();
  await ask("mcp", "install", "--yes", ...named);
  await ask("up", "--install-service");
  const mine = join(home, ".config/systemd/user/midwatch-mine.service");
  writeFileSync(mine, "[Service]\nExecStart=/bin/true\n");
  for (const name of Object.keys(CLIENTS)) expect(readFileSync(join(home, name), "utf8")).toContain("midwatch");

  const shown = await rows("uninstall");
  expect(shown.filter(({ action }) => action === "shown")).toHaveLength(4);
  for (const { path, action } of shown) if (action === "shown") expect(existsSync(path), path).toBe(true);

  const taken = await rows("uninstall", "--yes");
  expect(
    taken.filter(({ action }) => action === "removed").map(({ what }) => what.replace(/-\w+\.service/, "")),
  ).toEqual(["service midwatch-project", "MCP client claude", "MCP client codex", "MCP client opencode"]);
  expect(readFileSync(join(home, ".claude.json"), "utf8")).toBe(CLIENTS[".claude.json"]);
  expect(readFileSync(join(home, ".codex/config.toml"), "utf8")).toBe(CLIENTS[".codex/config.toml"]);
  expect(readFileSync(join(home, ".config/opencode/opencode.json"), "utf8")).toContain(
    '// a comment\n  "theme": "dark"',
  );
  for (const name of Object.keys(CLIENTS)) expect(readFileSync(join(home, name), "utf8")).not.toContain("midwatch");
  expect(readFileSync(mine, "utf8")).toContain("/bin/true");
  expect(taken.filter(({ action }) => action === "stays").length).toBeGreaterThan(2);
  expect((await rows("uninstall")).filter(({ action }) => action === "shown")).toEqual([]);
});

it("doctor finds what an upgrade or an emptied cache left without its program", async () => {
  const { home, project, env, ask, rows } = await person();
  const check = async () => {
    const all = (await rows("doctor")) as unknown as { check: string; state: string; message: string }[];
    return all.find(({ check }) => check === "installed");
  };
  expect(await check()).toMatchObject({ state: "ok" });
  await ask("up", "--install-service");
  await ask("mcp", "install", "--yes", "--client", "claude");
  expect(await check()).toMatchObject({ state: "ok", message: expect.stringContaining("MCP client claude") });

  const { path } = service(join(project, ".agent-workspace"), [], env);
  const unit = readFileSync(path, "utf8");
  writeFileSync(path, unit.replace(/^ExecStart=\S+/m, `ExecStart=${home}/old/node ${home}/old/midwatch.js`));
  expect(await check()).toMatchObject({ state: "warning", message: expect.stringContaining(`${home}/old/node`) });
  rmSync(path);
  const settings = join(home, ".claude.json");
  const cached = join(home, ".npm/_npx/1/node_modules/midwatch/dist/midwatch.js");
  mkdirSync(join(cached, ".."), { recursive: true });
  writeFileSync(cached, "");
  writeFileSync(
    settings,
    readFileSync(settings, "utf8").replace(/"command": "[^"]*midwatch"/, `"command": "${cached}"`),
  );
  expect(await check()).toMatchObject({ state: "warning", message: expect.stringContaining("_npx") });
});

it("on macOS the service is an agent of launchd", () => {
  const home = folder();
  const { path, unit, enable } = service(
    "/a & b/.agent-workspace",
    ["--port", "8080"],
    { HOME: home, PATH: "/bin" },
    "darwin",
  );
  expect(path).toMatch(/\/Library\/LaunchAgents\/midwatch-a-b-[0-9a-f]{8}\.plist$/);
  expect(unit).toContain("<string>up</string><string>--workspace</string><string>/a &amp; b/.agent-workspace</string>");
  expect(enable).toContain(`launchctl bootstrap gui/$(id -u) ${path}`);
});

it("doctor --self-check goes from start to receipt and tells the tier", async () => {
  const { ask } = await person();
  const { code, stdout, stderr } = await ask("doctor", "--self-check");
  expect(code, stderr).toBe(0);
  for (const step of ["start", "log", "stop", "receipt", "tier"])
    expect(stdout).toMatch(new RegExp(`(ok|warning) +self-check: ${step}`));
  expect(stdout).toMatch(/tier +(cgroup|subreaper|scan)/);
});
