/**
 * From the packed files to a run, as on a machine that never saw midwatch: no clone, no compiler, no script of a package, no network. Under
 * the oldest Node that midwatch takes; INSTALL_NODES=20,22,24,26 (`npm run test:install`) tries them all.
 */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ListRecord, Report } from "../../src/core/types.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { findTool } from "../support/tools.ts";
import { type Machine, machine, pack } from "./machine.ts";
import { type Registry, startRegistry } from "./registry.ts";

const PLATFORM = `${process.platform}-${process.arch}`;
const NODES = (process.env["INSTALL_NODES"] ?? "20,22").split(",");
const nodes = new Map(NODES.map((major) => [major, findTool(`node-${major}`)] as const));
/** One of each format of programs; all four in the long form. */
const PLATFORMS = process.env["INSTALL_NODES"] === undefined ? [PLATFORM, "darwin-arm64"] : undefined;
const MB = 1_000_000;

const zig = findTool("zig") !== undefined; // Without it nothing can be packed.

let packed = "";
let registry: Registry;
beforeAll(async () => {
  if (!zig) return;
  packed = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-packed-")));
  pack(packed, PLATFORMS);
  registry = await startRegistry(packed);
}, patient(600_000));
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  if (packed !== "") rmSync(packed, { recursive: true });
});

async function installed(node: string): Promise<Machine & { project: string }> {
  const here = machine(node, registry.url);
  const { code, stderr } = await here.run("npm", ["install", "-g", "midwatch"]);
  expect(code, stderr).toBe(0);
  const project = join(here.home, "project");
  mkdirSync(project);
  return { ...here, project };
}

const json = <T>(text: string): T => JSON.parse(text) as T;

describe.skipIf(!zig).each(NODES.filter((major) => Number(major) >= 22))("under Node %s", (major) => {
  const node = nodes.get(major);

  it.skipIf(node === undefined)("npx midwatch demo --once: to its receipt, without a compiler", async () => {
    const here = machine(node as string, registry.url);
    expect((await here.run("sh", ["-c", "command -v cc gcc make"])).stdout).toBe("");
    const begun = performance.now();
    const { code, stdout, stderr } = await here.run("npx", ["-y", "midwatch", "demo", "--once"]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("0 left, all verified");
    console.log(`npx midwatch demo --once under Node ${major}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  });

  it.skipIf(node === undefined)("npm install -g midwatch: run, logs, stop, up and mcp", async () => {
    const { midwatch, project, prefix, env } = await installed(node as string);
    const run = await midwatch(
      project,
      "run",
      "--json",
      "--name",
      "build",
      "--",
      "sh",
      "-c",
      "echo hello; sleep 600 & wait",
    );
    expect(run.code, run.stderr).toBe(0);
    const { agent } = json<ListRecord>(run.stdout);
    onTestFinished(async () => void (await midwatch(project, "stop", "--grace", "0", agent)));
    await expect
      .poll(async () => (await midwatch(project, "logs", agent)).stdout, { timeout: patient(20_000) })
      .toBe("hello\n");
    const stop = await midwatch(project, "stop", "--json", agent);
    expect(json<Report>(stop.stdout)).toMatchObject({ verified: true, left: [], processes_total: 2 });

    const up = await midwatch(project, "up", "--once", "--json");
    expect(up.code, up.stderr).toBe(0);
    const doctor = await midwatch(project, "doctor", "--json");
    expect(doctor.stdout).toContain(`node_modules/@midwatch/keeper-${PLATFORM}/midwatch-keeper (package)`);
    expect(await toolsOf(join(prefix, "bin/midwatch"), project, env)).toContain("deploy_headless_agent");
  });

  it.skipIf(node === undefined)("npm install midwatch: the library runs an agent", async () => {
    const here = machine(node as string, registry.url);
    const project = join(here.home, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"type":"module"}');
    expect((await here.run("npm", ["install", "midwatch"], { cwd: project })).code).toBe(0);
    writeFileSync(
      join(project, "main.js"),
      `import { openWorkspace } from "midwatch";
       const workspace = openWorkspace({ make: true });
       const { agent } = await workspace.runs.start({ argv: ["sh", "-c", "echo from the library"] });
       const [record] = await workspace.runs.wait([agent]);
       console.log(record.outcome);
       workspace.close();`,
    );
    const { code, stdout, stderr } = await here.run("node", ["main.js"], { cwd: project });
    expect([code, stdout], stderr).toEqual([0, "completed\n"]);
  });
});

describe.skipIf(!zig || nodes.get("22") === undefined)("what is installed", () => {
  const node = nodes.get("22") as string;

  it("is small: at most 12 MB in 10 packages, the keeper among them", async () => {
    const { prefix } = await installed(node);
    const files = globSync("lib/node_modules/**/*", { cwd: prefix, withFileTypes: true }).filter((one) => one.isFile());
    const bytes = files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
    const packages = files.filter(({ name }) => name === "package.json").length;
    expect(bytes).toBeLessThan(12 * MB);
    expect(packages).toBeLessThanOrEqual(10);
    console.log(`installed: ${(bytes / MB).toFixed(1)} MB, ${packages} packages, ${files.length} files`);
  });

  it("refuses a keeper that it was not packed with, and says what to do without one", async () => {
    const { midwatch, project, prefix } = await installed(node);
    const keeper = globSync(`lib/node_modules/**/@midwatch/keeper-${PLATFORM}/midwatch-keeper`, {
      cwd: prefix,
    })[0] as string;
    appendFileSync(join(prefix, keeper), "\0");
    const other = await midwatch(project, "run", "--", "true");
    expect([other.code, other.stderr]).toEqual([
      5,
      expect.stringMatching(/not the keeper that midwatch \S+ came with[\s\S]*Next: .*npm install -g midwatch@/),
    ]);
    rmSync(join(prefix, keeper));
    const none = await midwatch(project, "run", "--", "true");
    expect([none.code, none.stderr]).toEqual([
      5,
      expect.stringMatching(/\[NO_KEEPER\]\n {2}Next: .*optional packages/),
    ]);
  });

  it("refuses a keeper of another release that MIDWATCH_KEEPER names", async () => {
    const { run, project, home, env } = await installed(node);
    const old = join(home, "old-keeper");
    writeFileSync(old, "#!/bin/sh\necho midwatch-keeper 1\n", { mode: 0o755 });
    const asked = await run("midwatch", ["run", "--", "true"], { cwd: project, env: { ...env, MIDWATCH_KEEPER: old } });
    expect([asked.code, asked.stderr]).toEqual([5, expect.stringMatching(/of another release[\s\S]*Next: /)]);
  });

  it("writes paths down that an upgrade and an emptied cache leave: npx is refused", async () => {
    const { midwatch, run, project, home, prefix } = await installed(node);
    const npx = await run("npx", ["-y", `--prefix=${home}`, "midwatch", "up", "--install-service"], { cwd: project });
    expect([npx.code, npx.stderr]).toEqual([
      5,
      expect.stringMatching(/\[NOT_INSTALLED\]\n {2}Next: npm install -g midwatch/),
    ]);
    const told = await midwatch(project, "up", "--install-service");
    expect(told.code, told.stderr).toBe(0);
    expect(told.stdout).toContain(`ExecStart=${home}/bin/node ${prefix}/bin/midwatch up --workspace `);
    expect(told.stdout).not.toContain("_npx");
    expect((await run("npm", ["install", "-g", "--force", "midwatch"])).code).toBe(0);
    const check = async () =>
      (await midwatch(project, "doctor", "--json")).stdout.split("\n").find((line) => line.includes('"installed"'));
    expect(await check()).toContain('"ok","message":"service midwatch-project');
    expect((await run("npm", ["uninstall", "-g", "midwatch"])).code).toBe(0);
    const left = await run("npx", ["-y", "midwatch", "doctor", "--json"], { cwd: project });
    expect(left.stdout.split("\n").find((line) => line.includes('"installed"'))).toContain(
      `names ${prefix}/bin/midwatch`,
    );
  });

  it("says in one line that Windows is not for it", async () => {
    const { run, prefix } = await installed(node);
    const windows = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})";
    const { code, stderr } = await run("node", ["--import", windows, join(prefix, "bin/midwatch"), "ls"]);
    expect([code, stderr]).toEqual([5, expect.stringMatching(/^midwatch: [^\n]*WSL[^\n]*\n$/)]);
  });
});

it.skipIf(!zig || nodes.get("20") === undefined)("an older Node gets one line and no stack", async () => {
  const { midwatch, home } = await installed(nodes.get("20") as string);
  const { code, stdout, stderr } = await midwatch(home, "demo", "--once");
  expect([code, stdout, stderr]).toEqual([
    5,
    "",
    expect.stringMatching(/^midwatch: Node 20\.\S+ is too old\. Next: [^\n]+\n$/),
  ]);
});

/** Speaks to `midwatch mcp` as a client does. */
async function toolsOf(program: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const child = spawn(program, ["mcp"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  send({ id: 1, method: "initialize", params });
  for await (const line of createInterface(child.stdout)) {
    const { id, result } = json<{ id?: number; result?: { tools?: { name: string }[] } }>(line);
    if (id === 1) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/list" });
    }
    if (id === 2) {
      child.stdin.end();
      return (result?.tools ?? []).map(({ name }) => name);
    }
  }
  return [];
}

it.skipIf(!zig)("the same tree gives the same bytes, and each keeper is built in another folder", () => {
  const again = folder();
  pack(again, PLATFORMS);
  const [first, second] = [packed, again].map((at) => globSync("*.tgz", { cwd: at }).sort());
  expect(second).toEqual(first);
  for (const file of first ?? [])
    expect(readFileSync(join(again, file)).equals(readFileSync(join(packed, file))), file).toBe(true);
});
