import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";

const FILES = {
  claude: ".claude.json",
  codex: ".codex/config.toml",
  gemini: ".gemini/settings.json",
  opencode: ".config/opencode/opencode.json",
  cursor: ".cursor/mcp.json",
} as const;

it.each(Object.entries(FILES))(
  "%s: shows first, writes with --yes, and says so when it is there",
  async (client, file) => {
    const home = folder();
    const env = { HOME: home, PATH: "/usr/bin:/bin" };
    const path = join(home, file);
    const shown = await midwatch(home, ["mcp", "install", "--client", client], env);
    expect(shown).toMatchObject({ code: 1, stdout: expect.stringContaining("+") });
    expect(() => statSync(path)).toThrow();
    expect(await midwatch(home, ["mcp", "install", "--client", client, "--yes"], env)).toMatchObject({ code: 0 });
    const text = readFileSync(path, "utf8");
    expect(text).toContain("midwatch");
    if (client === "codex")
      expect(text).toMatch(
        /^\[mcp_servers\.midwatch\]\ncommand = ".+"\nargs = \[.*"mcp"\]\nenv_vars = \["XDG_STATE_HOME",.+"\]\n$/,
      );
    else expect(Object.values(JSON.parse(text))[0]).toMatchObject({ midwatch: { command: expect.anything() } });
    const again = await midwatch(home, ["mcp", "install", "--client", client, "--yes", "--json"], env);
    expect(JSON.parse(again.stdout)).toMatchObject({ client, file: path, action: "unchanged", backup: null });
    expect(readFileSync(path, "utf8")).toBe(text);
  },
);

it("keeps all else of the file, its mode, a link to it, and the old file beside it", async () => {
  const home = folder();
  const env = { HOME: home, PATH: "/usr/bin:/bin" };
  mkdirSync(join(home, "dotfiles"));
  mkdirSync(join(home, ".cursor"));
  const real = join(home, "dotfiles", "mcp.json");
  const old =
    '{\n\t// mine\n\t"big": 12345678901234567890,\n\t"mcpServers": {\n\t\t"own": {"command": "x"},\n\t},\n}\n';
  writeFileSync(real, old);
  chmodSync(real, 0o640);
  symlinkSync(real, join(home, ".cursor", "mcp.json"));
  const { code, stdout } = await midwatch(home, ["mcp", "install", "--yes", "--json"], env);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ client: "cursor", action: "written", backup: `${real}.bak` });
  expect(readFileSync(`${real}.bak`, "utf8")).toBe(old);
  expect(statSync(real).mode & 0o777).toBe(0o640);
  const lines = readFileSync(join(home, ".cursor", "mcp.json"), "utf8").split("\n");
  expect(lines.filter((line) => old.split("\n").includes(line))).toEqual(old.split("\n"));
});

it("leaves a file alone that it cannot read as the client would", async () => {
  const home = folder();
  writeFileSync(join(home, ".claude.json"), '{"mcpServers": [broken');
  const { code, stderr } = await midwatch(home, ["mcp", "install", "--client", "claude", "--yes"], {
    HOME: home,
    PATH: "/usr/bin:/bin",
  });
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("by hand") });
  expect(readFileSync(join(home, ".claude.json"), "utf8")).toBe('{"mcpServers": [broken');
});
