// The caller may open no more files, or start no more processes. It may fail, with a clear error; it may not misjudge what is there.
import { spawnSync } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { type LimitedGroup, limitedGroup } from "../support/fault/limited-cgroup.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

type Caller = (most: number, ...args: string[]) => { status: number | null; stdout: string; stderr: string };

/** The fewest with which Node itself starts and comes as far as our first line; with less it dies or hangs in its own beginning. */
function fewest(call: Caller): number {
  let [low, high] = [1, 64];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    const { status, stderr } = call(middle, "version");
    if (status === 5 || (status === 0 && stderr === "")) high = middle;
    else low = middle;
  }
  return high;
}

const withPrefix =
  (at: Lab, prefix: (most: number) => string[]): Caller =>
  (most, ...args) => {
    const [command = "", ...rest] = [...prefix(most), process.execPath, CLI, "--workspace", at.root, ...args];
    return spawnSync(command, rest, {
      cwd: at.folder,
      encoding: "utf8",
      timeout: patient(args[0] === "version" ? 2000 : 30_000),
      killSignal: "SIGKILL",
    });
  };

async function holds(at: Lab, call: Caller, rounds: number): Promise<Set<string>> {
  const seen = new Set<string>();
  const first = fewest(call);
  for (let most = first; most < first + rounds; most++) {
    const record = await at.run("sleep", "300");
    for (const args of [["ls"], ["run", "--", "sleep", "300"], ["stop", "--grace", "0", record.agent]]) {
      const { status, stdout, stderr } = call(most, args[0] as string, "--json", ...args.slice(1));
      const what = `${args[0]} with ${most}: ${status} ${stdout} ${stderr}`;
      seen.add(`${args[0]} ${status}`);
      if (status === 0) {
        if (args[0] === "ls") expect(stdout, what).toContain(record.agent);
        continue;
      }
      // Node reads several files of the program at once: with the fewest it may not even come to load it.
      if (most === first && stderr.startsWith("node:")) continue;
      expect(stderr, what).not.toMatch(/^ {4}at /m);
      const { error, ...report } = JSON.parse(stdout === "" ? stderr : stdout);
      // A stop that could not look says so in its receipt.
      if (args[0] === "stop" && error === undefined) {
        expect(report, what).toMatchObject({ verified: false, left: [{ why: expect.stringMatching(/no more/i) }] });
        continue;
      }
      // 1: the keeper was started, and could itself start nothing; the run is a failed launch then.
      expect(status === 1 ? [1, error.code] : [status, error.code], what).toEqual(
        status === 1 ? [1, "LAUNCH_FAILED"] : [5, "NO_RESOURCES"],
      );
    }
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
    expect(report, `with ${most}`).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    await endAll(at); // What `run` has started is limited like its caller, and would take from the next one.
  }
  return seen;
}

async function endAll(at: Lab): Promise<void> {
  const left = (await at.workspace.runs.list()).filter(({ phase }) => ["running", "intended"].includes(phase));
  const reports = await at.workspace.runs.stop(
    left.map(({ agent }) => agent),
    { graceMs: 0 },
  );
  expect(reports.filter(({ verified }) => !verified)).toEqual([]);
  await until(() => at.survivors(true).length === 0);
}

// Every call is a start of Node, which takes seconds on a loaded machine.
describe("a caller that is out of", { timeout: patient(300_000) }, () => {
  const prlimit = spawnSync("prlimit", ["--version"]).status === 0;
  if (!prlimit) console.warn("SKIPPED: out of descriptors: there is no prlimit.");

  it.skipIf(!prlimit)("R-004.8: descriptors says so, judges nothing by it, and a later stop works", async () => {
    const at = lab();
    const seen = await holds(
      at,
      withPrefix(at, (most) => ["prlimit", `--nofile=${most}:${most}`]),
      12,
    );
    expect([...seen]).toEqual(expect.arrayContaining(["ls 0", "ls 5", "run 5", "stop 5"]));
  });

  it("R-004.8: processes says so, and a later stop works", async ({ skip }) => {
    const group = limitedGroup("pids", 100) as LimitedGroup;
    if (group === undefined) return skip();
    onTestFinished(() => group.end(), patient(20_000));
    const at = lab();
    const call = withPrefix(at, (most) => {
      group.limit(most);
      return ["sh", "-c", `echo $$ >"${group.procs}"; exec "$@"`, "sh"];
    });
    const seen = await holds(at, call, 4);
    expect([...seen]).toEqual(expect.arrayContaining(["ls 0", "run 5"]));
  });
});
