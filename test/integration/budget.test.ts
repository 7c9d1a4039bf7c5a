/** Budgets over real agents, real ledgers and real processes that watch: who spends is a script that plays Claude Code. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { ListRecord } from "../../src/core/types.ts";
import type { BudgetRecord, RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { type Spending, spendingCli } from "../support/cli/spending-cli.ts";
import { CompanionLab } from "../support/companion.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { Puppets } from "../support/puppet.ts";
import { trustProject, writeConfig } from "../support/trusted.ts";
import { CLI, type Ended, type Lab, until } from "../support/workspace.ts";

/** A person of their own for each test: ledger and budgets are of all their workspaces. */
beforeEach(() => {
  vi.stubEnv("XDG_STATE_HOME", folder());
});

/** Prices are worked out from tokens: a call costs a cent. */
const CENT: Spending = { usdPerCall: 0.01, everyMs: 100 };

function spends(at: Lab, spending: Spending = CENT): Workspace {
  const bin = spendingCli(at.folder, spending);
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
  return at.open();
}

const spend = (workspace: Workspace, more: object = {}): Promise<RunRecord> =>
  workspace.runs.start({ driver: "claude", prompt: "go on for ever", mcp: false, ...more });

async function budget(at: Lab, ...args: string[]): Promise<BudgetRecord[]> {
  const { code, stdout, stderr } = await at.cli("budget", ...args, "--json");
  if (code !== 0) throw new Error(stderr);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

async function refused(at: Lab, ...args: string[]): Promise<Pick<Ended, "code"> & { message: string; hint: string }> {
  const { code, stderr } = await at.cli("budget", ...args, "--json");
  const { error } = JSON.parse(stderr);
  return { ...error, code };
}

interface Told {
  id: string;
  type: string;
  content: string;
  data: { percent: number };
}

/** As readers see them: who is killed between an event and the note of it is followed by one who writes the event again, under its id. */
function events(at: Lab, type = "budget.reached"): Told[] {
  const lines = readFileSync(join(at.root, "events.log"), "utf8").split("\n").filter(Boolean);
  const told = lines.map((line) => JSON.parse(line) as Told & { id: string }).filter((event) => event.type === type);
  return told.filter(({ id }, i) => told.findIndex((other) => other.id === id) === i);
}

const percents = (at: Lab): number[] => events(at).map(({ data }) => data.percent);

const up = (at: Lab): ReturnType<Lab["node"]> => at.node(CLI, "--workspace", at.root, "up", "--no-http");

const one = async (workspace: Workspace, agent: string): Promise<ListRecord> => await workspace.runs.show(agent);

it("eight agents in two workspaces: together they spend what a day may cost and hardly more; what starts then waits, and goes on when it is raised", async () => {
  const labs = [lab(), lab()] as const;
  await budget(labs[0], "set", "day", "1", "--everywhere", "--on", "stop");
  const [first, second] = labs.map((at) => spends(at)) as [Workspace, Workspace];
  const ups = labs.map(up);
  const agents: [Workspace, string][] = [];
  for (let n = 0; n < 8; n++) {
    const workspace = n % 2 === 0 ? first : second;
    agents.push([workspace, (await spend(workspace)).agent]);
  }
  for (const [workspace, agent] of agents) {
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(60_000) });
    expect(ended).toMatchObject({
      outcome: "limit",
      reason: expect.stringMatching(/^Stopped: the day's budget of 1 USD for all workspaces is spent \(~1(\.\d+)?\)/),
    });
  }
  const [state] = await budget(labs[1], "show");
  expect(state).toMatchObject({ period: "day", reach: "user", of: 1, estimated: true, on: "stop", from: "set" });
  // A call each 100 ms: each makes as many as fit between two looks and the end of its process. docs/soak.md has those as slow as a model.
  expect(state?.spent).toBeGreaterThanOrEqual(1);
  expect(state?.spent).toBeLessThanOrEqual(1 + 8 * 0.01 * patient(10));
  // What is told is told once, by whoever was first.
  expect([...percents(labs[0]), ...percents(labs[1])].sort((a, b) => a - b)).toEqual([50, 80, 100]);

  const started = await labs[1].cli("run", "--driver", "claude", "--no-mcp", "once more");
  expect(started).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /queued\n {2}waits: the day's budget of 1 USD for all workspaces is spent \(~.*; or: midwatch budget raise day 5 --everywhere\n/,
    ),
  });
  const [waiting] = await second.runs.list();
  expect(waiting).toMatchObject({
    queued: true,
    phase: "intended",
    wake: { on: "budget", not_before: state?.until },
    attention: { kind: "budget", next: "midwatch budget raise day 5 --everywhere" },
  });
  const restarted = await first.runs.restart(agents[0]?.[1]);
  expect(restarted).toMatchObject({ phase: "intended", pid: null, run: 2, wake: { on: "budget" } });
  expect((await budget(labs[1], "show"))[0]?.held).toEqual([waiting?.agent]);

  await budget(labs[0], "raise", "day", "3");
  await until(async () => (await one(second, waiting?.agent ?? "")).phase === "running", 15_000, "the held run starts");
  await until(async () => (await one(first, restarted.agent)).phase === "running", 15_000, "the held restart starts");
  expect(readFileSync(restarted.log, "utf8")).toMatch(
    /^{"type":"lifecycle","event":"agent_restart","agent_id":"[^"]+","run":2,/,
  );
  for (const child of ups) child.kill("SIGINT");
});

it("a spent day holds new starts and stops nobody, unless it is told to", async () => {
  const at = lab();
  const workspace = spends(at);
  const loop = workspace.up.loop();
  const going = await spend(workspace);
  expect(going).toMatchObject({ phase: "running" });
  await budget(at, "set", "day", "0.05");
  await until(async () => {
    await loop.round();
    return percents(at).includes(100);
  });
  expect(await one(workspace, going.agent)).toMatchObject({ phase: "running", attention: null });
  const held = await spend(workspace);
  expect(held).toMatchObject({ phase: "intended", wake: { on: "budget" } });
  expect((await loop.round()).started).toBe(0);
  const asked = await spend(workspace, { queue: true });
  expect(asked.wake).toMatchObject({ on: "budget" });

  await budget(at, "raise", "day", "1000");
  expect((await loop.round()).started).toBe(2);
  for (const { agent } of [held, asked])
    expect(await one(workspace, agent)).toMatchObject({ phase: "running", wake: null });
  // An amount of its own is told of anew; this one is far away.
  expect(percents(at)).toEqual([50, 80, 100]);
});

it("what is only told of stops nothing and holds nobody, and those that count to it say so", async () => {
  const at = lab();
  const workspace = spends(at, { ...CENT, calls: 6 });
  await budget(at, "set", "day", "0.05", "--on", "tell");
  const { agent } = await spend(workspace);
  const loop = workspace.up.loop();
  await until(async () => {
    await loop.round();
    return percents(at).includes(100);
  });
  expect(await one(workspace, agent)).toMatchObject({
    phase: "running",
    attention: {
      kind: "budget",
      why: expect.stringMatching(/^The day's budget of 0\.05 USD is spent .*nothing is stopped for it\.$/),
    },
  });
  expect(await spend(workspace)).toMatchObject({ phase: "running" });
});

it("a run and a tree have budgets of their own, and a label has one", async () => {
  const at = lab();
  const workspace = spends(at, { ...CENT, calls: 7 });
  await budget(at, "set", "run", "0.05");
  const loop = workspace.up.loop();
  const alone = await spend(workspace);
  await until(async () => (await loop.round()).stopped.includes(alone.agent));
  expect(await one(workspace, alone.agent)).toMatchObject({
    outcome: "limit",
    reason: expect.stringMatching(
      /^Stopped: the run's budget of 0\.05 USD is spent \(~0\.0\d\), .* over\.$|is spent \(~0\.05\)\.$/,
    ),
  });
  // The next run begins with nothing spent.
  expect(await workspace.runs.restart(alone.agent)).toMatchObject({ phase: "running" });
  await workspace.runs.stop([alone.agent], { graceMs: 0 });

  await budget(at, "set", "run", "off");
  await budget(at, "set", "tree", "0.1");
  const parent = await spend(workspace);
  const child = await spend(workspace, { parent: parent.agent });
  const other = await spend(workspace);
  const stopped = new Set<string>();
  await until(async () => {
    for (const agent of (await loop.round()).stopped) stopped.add(agent);
    return stopped.size >= 2;
  });
  expect([...stopped].sort()).toEqual([parent.agent, child.agent].sort());
  expect(await one(workspace, other.agent)).toMatchObject({ phase: "running" });
  expect(await workspace.runs.restart(child.agent)).toMatchObject({
    wake: { why: expect.stringContaining(`for ${parent.agent} and those below it is spent`), not_before: null },
  });

  await budget(at, "set", "tree", "off");
  await budget(at, "set", "day", "0.05", "--label", "night", "--on", "stop");
  const night = await spend(workspace, { labels: ["night"] });
  const day = await spend(workspace);
  await until(async () => (await loop.round()).stopped.includes(night.agent));
  expect(await one(workspace, day.agent)).toMatchObject({ phase: "running" });
  expect(await spend(workspace, { labels: ["night"] })).toMatchObject({ wake: { on: "budget" } });
  expect((await spend(workspace)).wake).toBeUndefined();
});

it("tokens are counted too, also of models whose price nobody knows", async () => {
  const at = lab();
  const workspace = spends(at, { ...CENT, calls: 5 });
  const script = join(at.folder, "bin", "claude");
  writeFileSync(script, readFileSync(script, "utf8").replace("claude-opus-4-5", "unheard-of"));
  await budget(at, "set", "day", "1", "--on", "stop");
  await budget(at, "set", "day", "9k", "tokens");
  const { agent } = await spend(workspace);
  const loop = workspace.up.loop();
  await until(async () => (await loop.round()).stopped.includes(agent));
  const [dollars, tokens] = await budget(at, "show");
  expect(dollars).toMatchObject({ unit: "usd", spent: 0, percent: 0, unpriced: 1 });
  expect(tokens).toMatchObject({ unit: "tokens", of: 9000, spent: 10_000, percent: 111 });
  expect((await at.cli("budget")).stdout).toContain("1 run used a model without a known price");
});

it("children of agents wait like others, and an agent sets no budget", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const puppet = await puppets.start({ permission: "all" });
  await budget(at, "set", "day", "0.01");
  const refusal = await puppet.midwatch("budget", "set", "day", "1000");
  expect(refusal).toMatchObject({ code: 4, stderr: expect.stringContaining("may not ask for budget set") });
  expect((await puppet.midwatch("budget", "raise", "day", "1000")).code).toBe(4);
  expect((await puppet.midwatch("budget")).stdout).toContain("0.01 USD");
  at.workspace.runs.resolve(puppet.agent);
  // Somebody of this user has spent it.
  const rich = lab();
  const spender = spends(rich);
  await budget(rich, "set", "day", "0.01", "--everywhere");
  const { agent } = await spend(spender);
  const loop = spender.up.loop();
  await until(async () => {
    await loop.round();
    return percents(rich).includes(100);
  });
  await spender.runs.stop([agent], { graceMs: 0 });
  const child = await puppet.midwatch("run", "--json", "--", "true");
  expect(JSON.parse(child.stdout)).toMatchObject({ phase: "intended", wake: { on: "budget" } });
});

it("a trusted file sets budgets; editing it, taking it away or forging what waits changes nothing", async () => {
  const at = lab();
  writeConfig(at.folder, { budget: { day: 0.05 } });
  const workspace = spends(at);
  const { agent } = await spend(workspace);
  const loop = workspace.up.loop();
  await until(async () => {
    await loop.round();
    return percents(at).includes(100);
  });
  await workspace.runs.stop([agent], { graceMs: 0 });
  const config = join(at.folder, "midwatch.config.json");
  const holds = async (): Promise<void> => {
    const [state] = await budget(at, "show");
    expect(state).toMatchObject({ of: 0.05 });
    expect(state?.percent).toBeGreaterThanOrEqual(100);
    const { stdout } = await at.cli("run", "--json", "--driver", "claude", "--no-mcp", "x");
    expect(JSON.parse(stdout)).toMatchObject({ phase: "intended", wake: { on: "budget" } });
  };
  await holds();
  writeFileSync(config, JSON.stringify({ budget: { day: 5000 } }));
  await holds();
  writeFileSync(config, JSON.stringify({ budget: { day: { of: 5000, on: "tell" } }, time_zone: "Pacific/Kiritimati" }));
  await holds();
  rmSync(config);
  await holds();
  // One that waits is started as it was asked for, or not at all.
  const held = await spend(workspace, { labels: ["x"] });
  at.setFact(held, "intent.json", { ...at.intent(held), queued: false });
  expect((await at.open().up.loop().round()).started).toBe(0);
  // A file that nobody trusted makes it stricter.
  writeFileSync(config, JSON.stringify({ budget: { day: 0.001 } }));
  expect((await budget(at, "show"))[0]).toMatchObject({ of: 0.001, from: "untrusted" });
  trustProject(at.folder);
  expect((await budget(at, "show"))[0]).toMatchObject({ of: 0.001, from: "file" });
  await budget(at, "raise", "day", "7");
  expect((await budget(at, "show"))[0]).toMatchObject({ of: 7, from: "set" });
});

it("two that watch, and one that comes back, tell each part once and start each held run once", async () => {
  const at = lab();
  const workspace = spends(at, { ...CENT, calls: 6 });
  await budget(at, "set", "day", "0.05");
  const ups = [up(at), up(at)];
  await spend(workspace);
  await until(() => percents(at).includes(100));
  for (const child of ups) child.kill("SIGKILL");
  const again = [up(at), up(at)];
  const held = await Promise.all(Array.from({ length: 4 }, () => spend(workspace)));
  expect(held.map(({ wake }) => wake?.on)).toEqual(["budget", "budget", "budget", "budget"]);
  await budget(at, "raise", "day", "100");
  const started = (): Told[] =>
    events(at, "agent.started").filter(({ content }) => held.some(({ agent }) => content.startsWith(agent)));
  await until(() => started().length >= 4);
  for (const { agent } of held) expect(await one(workspace, agent)).toMatchObject({ phase: "running", run: 1 });
  expect(started()).toHaveLength(4);
  expect(percents(at)).toEqual([50, 80, 100]);
  for (const child of again) child.kill("SIGINT");
});

it("while nobody is `up` the companion keeps to it: of what ran before there was a budget, and of what waits", async () => {
  const at = new CompanionLab();
  onTestFinished(() => at.end(), patient(60_000));
  const run = ["run", "--json", "--no-mcp", "--driver", "claude", "loop"];
  const { agent } = await at.json<RunRecord>(...run);
  expect([at.record(), at.companions()]).toEqual([undefined, []]);
  await at.midwatch("budget", "set", "day", "0.05", "--on", "stop");
  await at.comes();
  at.go();
  await until(async () => (await at.show(agent)).outcome !== null, 20_000, "it stops it");
  const reason = expect.stringContaining("the day's budget of 0.05 USD is spent");
  expect(await at.show(agent)).toMatchObject({ outcome: "limit", reason, limit: { limit: "budget", value: 0.05 } });
  await at.isGone();
  const held = await at.json<RunRecord>(...run);
  expect(held).toMatchObject({ phase: "intended", wake: { on: "budget" } });
  await at.comes();
  await at.midwatch("budget", "raise", "day", "1000");
  await until(async () => (await at.show(held.agent)).phase === "running", 20_000, "it starts what waits");
});

it("says what is wrong, and what to write instead", async () => {
  const at = lab();
  expect(await budget(at)).toEqual([]);
  const cases: [string[], number, string, string][] = [
    [["set", "day", "0"], 2, '"0" is nothing.', "`off`"],
    [["set", "day", "NaN"], 2, '"NaN" is not an amount.', "5 USD"],
    [["set", "day", "5", "EUR"], 2, "is not in dollars or tokens", "2M tokens"],
    [["set", "dai", "5"], 2, '"dai" is not a period of a budget.', "day"],
    [["set", "day", "5", "--on", "halt"], 2, '"halt" is not a way to act', "hold"],
    [["set", "run", "5", "--on", "hold"], 2, "cannot be held back", "tell or stop"],
    [["set", "day"], 2, "AMOUNT is missing", ""],
    [["set", "day", "5", "--everywhere", "--fleet"], 2, "exclude each other", ""],
    [["raise", "day", "5"], 3, "no such budget", "midwatch budget set day 5 USD"],
    [["sett"], 2, "no `midwatch budget sett`", "set"],
  ];
  for (const [args, code, message, hint] of cases) {
    const error = await refused(at, ...args);
    expect({ args, ...error }).toMatchObject({
      code,
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  }
  const negative = await at.cli("budget", "set", "day", "-5");
  expect(negative).toMatchObject({ code: 2, stderr: expect.stringContaining("-5") });
  await budget(at, "set", "day", "5");
  await budget(at, "set", "day", "9", "--everywhere");
  expect(await refused(at, "raise", "day", "4", "--everywhere")).toMatchObject({
    message: "4 USD is not more than the 9 USD that it is.",
  });
  expect(await refused(at, "raise", "day", "20")).toMatchObject({
    message: "There are 2 budgets of a day.",
    hint: expect.stringContaining("--everywhere"),
  });
  expect((await at.cli("budget")).stdout).toMatch(
    /^BUDGET +FROM +TO +SPENT +OF +% +WHEN PASSED +WAITING\nday +.* 00:00 +.* 00:00 +0 USD +5 USD +0 +new starts wait +-\nday \(all workspaces\)/,
  );
  const state = process.env["XDG_STATE_HOME"] ?? "";
  await budget(at, "set", "day", "off");
  expect(await budget(at)).toMatchObject([{ reach: "user" }]);
  // What a person said and cannot be read is not nothing.
  for (const name of await import("node:fs").then(({ globSync }) =>
    globSync(join(state, "midwatch", "budgets", "*.json")),
  ))
    writeFileSync(name, "{");
  expect(await refused(at)).toMatchObject({ code: 5, message: expect.stringContaining("cannot be read") });
  expect(await at.cli("run", "--", "true")).toMatchObject({ code: 5 });
  expect(await at.cli("ls")).toMatchObject({ code: 0 });
});
