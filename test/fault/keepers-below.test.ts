import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { DoneFact, ListRecord } from "../../src/core/types.ts";
import type { RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, text, until } from "../support/workspace.ts";

const LINES = 30;
const numbers = Array.from({ length: LINES }, (_, i) => `${i + 1}\n`).join("");
/** Prints beside a daemon without environment, session and parent, waits until it may end, and exits with 6. */
const CHILD = `env >"$OUT/child-env"; (env -i setsid sleep 300 & echo $! >"$OUT/child-daemon");
  i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo $i; sleep 0.05; done
  until [ -e "$OUT/go" ]; do sleep 0.02; done; kill -0 $(cat "$OUT/child-daemon") || exit 9; exit 6`;

function inside(at: Lab, more: Record<string, string> = {}): Workspace {
  return at.open({
    env: { ...process.env, NODE: process.execPath, CLI, OUT: at.folder, CHILD, MIDWATCH_GRACE: "300ms", ...more },
  });
}

/** Agent A starts agent B by the command line and then does `rest`. */
async function family(
  at: Lab,
  childTier: Tier,
  rest: string,
  child = '"$CHILD"',
): Promise<{ a: RunRecord; b: RunRecord }> {
  const started = join(at.folder, "b.json");
  const run = `"$NODE" "$CLI" run --json --name b --tier ${childTier} -- sh -c ${child}`;
  const a = await inside(at).runs.start({
    argv: ["sh", "-c", `(${run}) >"${started}.new" && mv "${started}.new" "${started}"; ${rest}`],
    name: "a",
  });
  await until(() => existsSync(started), 20_000, "B is started");
  const b = JSON.parse(text(started)) as RunRecord;
  await until(() => text(b.log) !== "", 5000, "B prints");
  return { a, b };
}

async function expectWhole(at: Lab, { a, b }: { a: RunRecord; b: RunRecord }): Promise<void> {
  writeFileSync(join(at.folder, "go"), "");
  const [over] = await at.workspace.runs.wait([b.agent], { timeoutMs: patient(20_000) });
  expect(over).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 6, signal: null }, parent: a.agent });
  expect((await at.raw(b.agent)).toString()).toBe(numbers);
  const environment = readFileSync(join(at.folder, "child-env"), "utf8");
  expect(environment).not.toContain(at.intent(a).nonce);
  expect(environment).toContain(`MIDWATCH_NONCE=${at.intent(b).nonce}`);
  expect(environment).toContain(`MIDWATCH_AGENT=${b.agent}`);
}

const COMBINATIONS: [Tier, Tier][] = [
  ["auto", "auto"],
  ["subreaper", "subreaper"],
  ["auto", "subreaper"],
  ["subreaper", "auto"],
];

async function parentEnds(at: Lab, childTier: Tier): Promise<void> {
  const both = await family(at, childTier, "sleep 300 & exit 3");
  const [over] = await at.workspace.runs.wait([both.a.agent], { timeoutMs: patient(10_000) });
  expect(over).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 3 } });
  expect(at.fact<DoneFact>(both.a, "done.json")).toMatchObject({
    verified: true,
    children: [{ pid: both.b.keeper_pid, run: `${both.b.agent}.1` }],
    // One leftover; it may be ended between its fork and its exec, when it still has the shell's name.
    processes: [{ name: expect.stringMatching(/^(sleep|sh)$/) }],
    processes_total: 1,
  });
  await expectWhole(at, both);
}

async function parentIsStopped(at: Lab, childTier: Tier): Promise<void> {
  const both = await family(at, childTier, "sleep 300");
  const [report] = await at.workspace.runs.stop([both.a.agent], { graceMs: 300 });
  expect(report).toMatchObject({ agent: both.a.agent, verified: true, outcome: "stopped", left: [] });
  expect(report?.children).toEqual([{ pid: both.b.keeper_pid, run: `${both.b.agent}.1` }]);
  await expectWhole(at, both);
}

async function parentIsLostAndStopped(at: Lab, childTier: Tier): Promise<void> {
  const both = await family(at, childTier, "sleep 300");
  await kill9(keeperOf(at, both.a));
  // Its shell and the sleep, once the shell has come to it.
  await until(async () => (await at.workspace.runs.show(both.a.agent)).alive?.length === 2);
  expect(await at.workspace.runs.show(both.a.agent)).toMatchObject({ phase: "lost" });
  const [report] = await at.workspace.runs.stop([both.a.agent], { graceMs: 300 });
  expect(report).toMatchObject({ agent: both.a.agent, verified: true, left: [] });
  await expectWhole(at, both);
}

it.each(COMBINATIONS)(
  "R-004.3: an agent started by an agent goes on when that ends, is stopped, or is lost and stopped (tiers %s, %s)",
  async (tier, childTier) => {
    await Promise.all(
      [parentEnds, parentIsStopped, parentIsLostAndStopped].map((act) => act(lab({ tier }), childTier)),
    );
  },
);

it.each(["auto", "subreaper"] as const)("stop --tree ends an agent and those it started (tier %s)", async (tier) => {
  const at = lab({ tier });
  const { a, b } = await family(at, tier, "sleep 300", "'echo here; exec sleep 300'");
  const stopped = await at.cli("stop", "--tree", "--grace", "300ms", "--json", a.agent);
  const reports = stopped.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(stopped.code).toBe(0);
  expect(reports.map(({ agent, verified, outcome, children }) => ({ agent, verified, outcome, children }))).toEqual([
    { agent: b.agent, verified: true, outcome: "stopped", children: [] },
    { agent: a.agent, verified: true, outcome: "stopped", children: [] },
  ]);
  expect(at.survivors()).toEqual([]);
});

describe("limits", () => {
  async function printed(at: Lab, workspace: Workspace, script: string): Promise<string[]> {
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", script] });
    await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    return (await at.raw(agent)).toString().trim().split("\n");
  }
  const CHILD_RUN = `"$NODE" "$CLI" run --json`;
  const refused = (line: string | undefined): unknown => JSON.parse(line ?? "{}").error?.code;

  it("agents nested deeper than max_depth are refused", async () => {
    const at = lab();
    const workspace = inside(at, { MIDWATCH_MAX_DEPTH: "1" });
    const inner = `${CHILD_RUN} --name c -- true 2>&1; echo $?`;
    const [, ...rest] = await printed(at, workspace, `${CHILD_RUN} --wait --name b -- sh -c '${inner}'; echo over`);
    expect(rest.at(-1)).toBe("over");
    const b = (await workspace.runs.list()).find(({ agent }) => agent.startsWith("b-")) as ListRecord;
    const [error, code] = (await at.raw(b.agent)).toString().trim().split("\n");
    expect([refused(error), code]).toEqual(["REFUSED_LIMIT", "4"]);
    expect(JSON.parse(error ?? "{}").error.retryable).toBe(false);
    expect((await workspace.runs.list()).filter(({ agent }) => agent.startsWith("c-"))).toEqual([]);
  });

  it("more live children than max_children, or more in a minute than child_rate, are refused", async () => {
    const at = lab();
    const one = (name: string, command: string): string => `${CHILD_RUN} --name ${name} -- ${command} 2>&1; echo $?`;
    const children = inside(at, { MIDWATCH_MAX_CHILDREN: "2" });
    const seen = await printed(at, children, ["c1", "c2", "c3"].map((name) => one(name, "sleep 30")).join("; "));
    expect([seen[1], seen[3], refused(seen[4]), seen[5]]).toEqual(["0", "0", "REFUSED_LIMIT", "4"]);
    const rate = inside(at, { MIDWATCH_CHILD_RATE: "2" });
    const fast = await printed(at, rate, ["r1", "r2", "r3"].map((name) => one(name, "true")).join("; "));
    expect([fast[1], fast[3], refused(fast[4]), fast[5]]).toEqual(["0", "0", "REFUSED_LIMIT", "4"]);
  });
});
