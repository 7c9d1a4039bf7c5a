/**
 * An upgrade under 20 agents: midwatch 0.1.0 as it was packed is installed, starts them and keeps house; npm puts the new one in its place, and its
 * `up` takes over. No byte of any log is lost and no agent ends; the new one then stops them all with proof.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import type { ListRecord, Report } from "../../src/core/types.ts";
import { patient } from "../support/patience.ts";
import { findTool } from "../support/tools.ts";
import { until } from "../support/workspace.ts";
import { machine, pack, packInstalled } from "./machine.ts";
import { type Registry, startRegistry } from "./registry.ts";

const AGENTS = 20;
const PAST = join(import.meta.dirname, "../past");
const node = findTool("node-24");
const able = node !== undefined && findTool("zig") !== undefined;

let packed = "";
let registry: Registry;
beforeAll(async () => {
  if (!able) return;
  packed = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-packed-")));
  pack(packed, [`${process.platform}-${process.arch}`], NEXT);
  packInstalled(packed, ["@hono/node-server", "@modelcontextprotocol/server", "hono", "ws", "zod"]);
  registry = await startRegistry(PAST, packed);
}, patient(600_000));
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  if (packed !== "") rmSync(packed, { recursive: true });
});

/** The tree may still bear the number of the release that it upgrades. */
const NEXT = "0.1.1-upgrade";

/** Counts without end. */
const COUNT = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done";

const lines = <T>(text: string): T[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);

it.skipIf(!able)("`up` of 0.1.0 is replaced while 20 agents run: 0 bytes lost, 0 agents ended", async () => {
  const here = machine(node as string, registry.url);
  const project = join(here.home, "project");
  mkdirSync(project);
  // 0.1.0 brought no keeper: it makes one, so it is installed on a machine with a compiler.
  const compiler = { ...here.env, PATH: `${here.env["PATH"]}:/usr/bin:/bin` };
  const install = async (version: string): Promise<void> => {
    const { code, stderr } = await here.run("npm", ["install", "-g", `midwatch@${version}`]);
    expect(code, stderr).toBe(0);
  };
  const old = async (...args: string[]) => await here.run("midwatch", args, { cwd: project, env: compiler });
  await install("0.1.0");
  expect((await old("version")).stdout).toContain("midwatch 0.1.0");

  const begin = async (name: string): Promise<ListRecord[]> => {
    const { code, stdout, stderr } = await old("run", "--json", "--name", name, "--", "sh", "-c", COUNT);
    expect(code, stderr).toBe(0);
    return lines<ListRecord>(stdout);
  };
  const agents = await begin("count"); // Alone: it makes the keeper.
  agents.push(...(await Promise.all(Array.from({ length: AGENTS - 1 }, (_, i) => begin(`count${i}`)))).flat());
  const up = (env: NodeJS.ProcessEnv): ChildProcess => {
    const child = spawn(join(here.prefix, "bin/midwatch"), ["up", "--no-http", "--json"], {
      cwd: project,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  const before = up(compiler);
  const leader = async (): Promise<number | null> =>
    lines<{ pid: number | null }>((await here.midwatch(project, "leader", "--json")).stdout)[0]?.pid ?? null;
  await until(async () => (await leader()) === before.pid, 30_000, "0.1.0 leads");

  await install(NEXT);
  expect((await here.midwatch(project, "version")).stdout).toContain(`midwatch ${NEXT}`);
  expect((await here.midwatch(project, "trust", "--workspace")).code).toBe(0);
  onTestFinished(
    async () => void (await here.midwatch(project, "stop", "--grace", "0", ...agents.map(({ agent }) => agent))),
  );
  const after = up(here.env);
  await until(async () => (await leader()) === before.pid, 30_000, "the older one still leads");
  before.kill("SIGTERM");
  await once(before, "exit");
  await until(async () => (await leader()) === after.pid, 60_000, "the new one takes over");

  const now = lines<ListRecord>((await here.midwatch(project, "ls", "--json")).stdout);
  expect(now.map(({ agent, phase }) => [agent, phase]).sort()).toEqual(
    agents.map(({ agent }) => [agent, "running"]).sort(),
  );
  const stopped = lines<Report & { log_bytes: number }>(
    (await here.midwatch(project, "stop", "--json", "--grace", "2s", ...agents.map(({ agent }) => agent))).stdout,
  );
  expect(stopped.filter(({ verified, left }) => verified && left.length === 0)).toHaveLength(AGENTS);
  let bytes = 0;
  const logs = agents.map(({ agent }) => here.midwatch(project, "logs", "--raw", "--no-mask", agent));
  for (const { stdout } of await Promise.all(logs)) {
    const numbers = stdout.trimEnd().split("\n").map(Number);
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
    expect(numbers.length).toBeGreaterThan(50);
    bytes += stdout.length;
  }
  console.log(
    `upgrade: ${AGENTS} agents, 0 ended, ${bytes} bytes, none missing; ${readFileSync(join(packed, `midwatch-${NEXT}.tgz`)).length} bytes packed`,
  );
  after.kill("SIGTERM");
  await once(after, "exit");
});
