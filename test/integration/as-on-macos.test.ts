/**
 * What can be tried of macOS without a Mac. Its keeper owns no orphans: one is built that way for Linux, and the commands run as if the
 * platform were darwin, so that they ask the keeper instead of /proc. Apple's calls (keeper/platform_darwin.c) are only compiled.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { afterEach, beforeAll, expect, it } from "vitest";
import type { Report } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { type ProcessFacts, readProcess } from "../../src/process/identity.ts";
import { patient } from "../support/patience.ts";
import { toolProgram } from "../support/tools.ts";
import { CLI, ended, Lab, lives, supportFile, until } from "../support/workspace.ts";

const KEEPER = supportFile("../../keeper");
const DARWIN = "data:text/javascript,Object.defineProperty(process,'platform',{value:'darwin'})";
const ZIG = process.env["ZIG"] ?? toolProgram("zig") ?? "zig";
let lab: Lab | undefined;
let orphans: ProcessFacts[] = [];

beforeAll(() => {
  expect(
    spawnSync("make", ["-s", "-C", KEEPER, "build/scan"], { stdio: "inherit", timeout: patient(60_000) }).status,
  ).toBe(0);
});
afterEach(async () => {
  for (const orphan of orphans) if (lives(orphan)) process.kill(orphan.pid, "SIGKILL"); // One has no mark for the lab to find.
  await lab?.end();
  lab = undefined;
});

function start(lab: Lab, ...args: string[]): ChildProcess {
  return lab.watch(
    spawn(process.execPath, ["--import", DARWIN, CLI, "--workspace", lab.root, ...args], {
      env: { ...process.env, MIDWATCH_KEEPER: `${KEEPER}/build/scan` },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

async function midwatch<T>(lab: Lab, ...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await ended(start(lab, "--json", ...args));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as T;
}

it("R-004.25: without subreaper, cgroup and /proc a run is listed, stopped with its orphans, and says scan", async () => {
  const here = new Lab();
  lab = here;
  const stubborn = `trap "" INT TERM; echo $$; while :; do sleep 0.05; done`;
  const script = `(setsid sh -c '${stubborn}' &); (env -i /bin/sh -c '${stubborn}' &); while :; do sleep 0.05; done`;
  const run = await midwatch<RunRecord>(here, "run", "--", "sh", "-c", script);
  expect(run).toMatchObject({ phase: "running", guarantee: "scan" });
  const printed = async () => (await here.raw(run.agent)).toString();
  await until(async () => (await printed()).split("\n").length === 3);
  orphans = (await printed()).split("\n").flatMap((pid) => readProcess(Number(pid)) ?? []);
  expect(orphans.map(({ name }) => name)).toEqual(["sh", "sh"]);
  expect(await midwatch(here, "ls")).toMatchObject({ agent: run.agent, phase: "running", guarantee: "scan" });
  const report = await midwatch<Report>(here, "stop", "--grace", "200ms", run.agent);
  expect(report).toMatchObject({ verified: true, guarantee: "scan", outcome: "stopped", left: [] });
  expect(report.processes).toEqual(
    expect.arrayContaining(orphans.map(({ pid }) => ({ pid, name: "sh", ended_by: "SIGKILL" }))),
  );
  expect(orphans.filter(lives)).toEqual([]);
});

const compiler = spawnSync(ZIG, ["version"]).status === 0;
if (!compiler) console.warn("SKIPPED: no zig here (ZIG=path names one): the keeper was not compiled for macOS.");

it.skipIf(!compiler)("the keeper compiles for both of Apple's processors, without a claim to orphans", () => {
  const made = spawnSync("make", ["-s", "-C", KEEPER, "check-macos", `ZIG=${ZIG}`], {
    encoding: "utf8",
    timeout: patient(80_000),
  });
  expect(made.stderr).toBe("");
  expect(made.stdout.match(/darwin-(arm64|x64)/g)).toEqual(["darwin-arm64", "darwin-x64"]);
});
