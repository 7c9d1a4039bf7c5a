import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { workspaceIn } from "../support/run.ts";

/** In a project whose path systemd would take apart. */
async function install() {
  const home = folder();
  const project = join(folder(), "a 100% $HOME project");
  mkdirSync(project);
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: undefined };
  const told = await midwatch(project, ["up", "--install-service", "--port", "8080"], env);
  const units = join(home, ".config/systemd/user");
  const [name = ""] = readdirSync(units);
  return { project, env, told, name, path: join(units, name) };
}

it("up --install-service shows and writes a unit whose end leaves the agents alone", async () => {
  const { project, env, told, name, path } = await install();
  expect(told.code).toBe(0);
  expect(name).toMatch(/^midwatch-a-100-home-project-[0-9a-f]{8}\.service$/);
  const unit = readFileSync(path, "utf8");
  expect(told.stdout.startsWith(unit)).toBe(true);
  expect(told.stderr).toContain(`enable --now ${name}`);
  for (const line of ["KillMode=process", "Restart=on-failure", "Delegate=yes", "OOMPolicy=continue"])
    expect(unit.split("\n")).toContain(line);
  // An absolute path that stays, in quotes where it has a space: of a clone its own launcher.
  expect(unit).toMatch(/^ExecStart="?\/[^"]*\/midwatch"? up --workspace ".*" --port 8080$/m);
  expect(unit).toContain(`${project.replace("%", "%%").replace("$", "$$$$")}/.agent-workspace"`);

  writeFileSync(path, "[Service]\nExecStart=/bin/true\n");
  expect((await midwatch(project, ["up", "--install-service"], env)).stderr).toContain("[REFUSED_FILE]");
});

const judge = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!judge) console.warn("SKIPPED: systemd's word on our unit: systemd-analyze is not installed.");

it.skipIf(!judge)("systemd finds nothing wrong with the unit", async () => {
  const { path } = await install();
  expect(spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" }).stderr).toBe("");
});

it("doctor tells of a port in use and of a token that others can read", async () => {
  const project = folder();
  const workspace = workspaceIn(project);
  const checks = async (): Promise<Record<string, string>> => {
    const { stdout } = await midwatch(project, ["doctor", "--json"]);
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    return Object.fromEntries(rows.map(({ check, state }) => [check, state]));
  };
  const other = createServer();
  onTestFinished(() => void other.close());
  await new Promise<void>((resolve) => {
    other.once("error", () => resolve()); // In use already: as good.
    other.listen(4750, "127.0.0.1", () => resolve());
  });
  workspace.http.token();
  expect(await checks()).toMatchObject({ port: "warning", token: "ok", unit: expect.stringMatching(/ok|warning/) });
  const token = join(workspace.root, "http-token");
  expect(existsSync(token) && statSync(token).mode & 0o777).toBe(0o600);
  chmodSync(token, 0o644);
  expect((await checks())["token"]).toBe("failed");
});
