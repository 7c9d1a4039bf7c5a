// Somebody sets the wall clock, by an hour or a day, while agents are started and stopped. Only clocks that never jump may decide.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ListRecord, Report, ShowRecord } from "../../src/core/types.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { expectSettled, lookLater } from "../support/settled.ts";
import { STEPS, standing } from "../support/standing.ts";
import { CLI, type Ended, ended, type Lab, supportFile, until } from "../support/workspace.ts";

const HOUR = 3_600_000;
const JUMPS = [HOUR, -HOUR, 24 * HOUR, -24 * HOUR];
const SET_CLOCK = pathToFileURL(supportFile("fault/set-clock.ts")).href;

/** `midwatch ARGS` with a clock that was set. */
function midwatch(at: Lab, jumps: readonly number[], args: readonly string[], keeper?: string): Promise<Ended> {
  const env = { ...process.env, CLOCK_JUMPS_MS: jumps.join(), ...(keeper ? { MIDWATCH_KEEPER: keeper } : {}) };
  const child = spawn(process.execPath, ["--import", SET_CLOCK, CLI, "--workspace", at.root, ...args], {
    cwd: at.folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: patient(30_000),
    killSignal: "SIGKILL",
  });
  return ended(child);
}

afterEach(() => void vi.useRealTimers());

describe.each(STEPS.filter((step) => step !== "answered"))("a launcher at %s", (step) => {
  it("lives, and the clock is set: it is not given up, and starts its agent", async () => {
    const at = lab();
    const { go } = await standing(at, step, "run", "sleep", "300");
    for (const jump of JUMPS) {
      const { code, stdout } = await midwatch(at, [jump], ["ls", "--json"]);
      expect([code, JSON.parse(stdout).phase], `${jump} ms`).toEqual([0, "intended"]);
    }
    expect(await go()).toMatchObject({ phase: "running" });
    const [report] = await at.workspace.runs.stop(["a"], { graceMs: 0 });
    expect(report).toMatchObject({ verified: true, outcome: "stopped" });
    await expectSettled(at);
  });

  it.each(JUMPS)("is dead, and the clock is set by %i ms: nobody waits for it longer than its 10 s", async (jump) => {
    const at = lab();
    const { child } = await standing(at, step, "run", "sleep", "300");
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + jump });
    await lookLater(at);
    expect((await at.open().runs.list({ all: true })).map(({ phase }) => phase)).toEqual(
      step === "intent" ? ["launch_failed"] : [],
    );
    await expectSettled(at);
  });
});

it("R-004.2: the clocks of caller and keeper are set all the time: start, list, stop with grace and restart are right", async () => {
  const source = fileURLToPath(new URL("../../keeper", import.meta.url));
  execFileSync("make", ["-s", "-C", source, "build/clock"], { timeout: patient(120_000) });
  const at = lab();
  const jumps = [0, HOUR, -24 * HOUR, 24 * HOUR, -HOUR];
  const call = (...args: string[]): Promise<Ended> => midwatch(at, jumps, args, `${source}/build/clock`);
  const stubborn = "trap '' INT TERM; i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done";
  const started = await call("run", "--json", "--", "sh", "-c", stubborn);
  expect(started, started.stderr).toMatchObject({ code: 0 });
  const { agent } = JSON.parse(started.stdout) as ListRecord;
  await until(async () => (await at.raw(agent)).length > 20);
  expect(JSON.parse((await call("ls", "--json")).stdout)).toMatchObject({ agent, phase: "running" });
  const begun = performance.now();
  const { code, stdout } = await call("stop", "--json", "--grace", "800ms", agent);
  expect(code).toBe(0);
  expect(JSON.parse(stdout) as Report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
  expect(performance.now() - begun).toBeGreaterThanOrEqual(800); // The whole grace; that it ended at all is the other half.
  expect(at.survivors()).toEqual([]);
  expect(await at.workspace.logs.verify(agent)).toMatchObject({ ok: true, index: "ok" });
  const restarted = await call("restart", "--json", agent);
  expect(restarted, restarted.stderr).toMatchObject({ code: 0 });
  expect((await call("stop", "--grace", "0", agent)).code).toBe(0);
  const shown = JSON.parse((await call("show", "--json", agent)).stdout) as ShowRecord;
  expect(shown.runs.map(({ phase, outcome }) => [phase, outcome])).toEqual([
    ["drained", "stopped"],
    ["drained", "stopped"],
  ]);
});
