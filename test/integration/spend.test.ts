/** The ledger through the doors: what runs cost is in it, whoever wrote it, and it is in nobody's way. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CostBucket, CostRecord } from "../../src/core/cost-record.ts";
import type { ListRecord } from "../../src/core/types.ts";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { modelName } from "../../src/spend/figures.ts";
import { Ledger } from "../../src/spend/ledger.ts";
import { LISTED } from "../../src/spend/prices.ts";
import { startCli } from "../support/cli/cli-trial.ts";
import { isInstalled } from "../support/cli/real-clis.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { trustProject, writeConfig } from "../support/trusted.ts";
import { type Lab, supportFile, text, until } from "../support/workspace.ts";

const WORKER = supportFile("worker/ledger-worker.ts");
const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
});

/** A CLI that prints what a file beside it says, line by line as it grows, until it says END. */
function speaker(at: Lab): { env: NodeJS.ProcessEnv; say(line: object): void; end(): void } {
  const script = join(at.folder, "said.jsonl");
  const bin = join(at.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(script, "");
  writeFileSync(join(bin, "claude"), `#!/bin/sh\ntail -n +1 -f "${script}" | sed -u '/^END$/q'\nkill 0\n`, {
    mode: 0o755,
  });
  return {
    env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` },
    say: (line) => appendFileSync(script, `${JSON.stringify(line)}\n`),
    end: () => appendFileSync(script, "END\n"),
  };
}

function message(id: string, model: string, tokens: object): object {
  return { type: "assistant", message: { id, model, content: [{ type: "text", text: `Step ${id}` }], usage: tokens } };
}

async function costOf(at: Lab, ...more: string[]): Promise<CostRecord[]> {
  const { stdout } = await at.cli("cost", "--json", ...more);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as CostRecord);
}

async function write(path: string, name: string, runs: number, words: number): Promise<void> {
  const child = fork(WORKER, [path, name, String(runs), String(words)]);
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
}

it("eight processes that write at once lose nothing, also of a run that all of them tell of", async () => {
  const path = join(folder(), "spend.db");
  await Promise.all(Array.from({ length: 8 }, (_, n) => write(path, `w${n}`, 5, 40)));
  const ledger = new Ledger(() => path);
  const all = ledger.spent({});
  expect(all).toMatchObject({ runs: 41, tokens: { input: 41 * 400, output: 41 * 40 } });
  expect(all.usd).toBe(1.64);
  expect(ledger.spent({ workspace: "w3" }).usd).toBe(0.2);
  expect(ledger.sums({}, "project")).toHaveLength(9);
  ledger.close();
});

describe("a run", () => {
  it("is in the ledger while it goes on, at its rate, and with its CLI's own figure at its end", async () => {
    const at = lab();
    const { env, say, end } = speaker(at);
    const workspace = at.open({ env });
    const { agent } = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser", labels: ["night"] });
    say(message("a", "claude-opus-4-5", usage(100_000, 1000)));
    const rounds = workspace.verdicts.rounds();
    await until(async () => (await rounds.round()).summaries[0]?.cost_usd);
    const estimate = 0.5 + 0.025;
    const [live, sum] = await costOf(at, "--by", "agent");
    expect(live).toMatchObject({ of: agent, cost_usd: estimate, estimated_usd: estimate, unpriced: 0 });
    expect(sum).toMatchObject({ of: "all", runs: 1, cost_usd: estimate });
    const listed = JSON.parse((await at.cli("ls", "--json")).stdout) as ListRecord;
    expect(listed).toMatchObject({ cost_usd: estimate, cost_estimated: true, tokens: { input: 100_000 } });
    expect(listed.usd_per_hour).toBeGreaterThan(estimate * 6 - 0.001);
    expect((await at.cli("ls")).stdout).toMatch(/USD\/H[\s\S]*~\d+\.\d\d/);
    expect((await at.cli("show", agent)).stdout).toContain("~0.5250 USD");

    const told = { inputTokens: 100_000, outputTokens: 900, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 };
    const haiku = { inputTokens: 10, outputTokens: 1, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 };
    const modelUsage = {
      "claude-opus-4-5": { ...told, costUSD: 0.4 },
      "claude-haiku-4-5-20251001": { ...haiku, costUSD: 0.1 },
    };
    say({ type: "result", subtype: "success", result: "Done.", total_cost_usd: 0.5, modelUsage });
    end();
    await workspace.runs.wait([agent]);
    const [opus, cheap, all] = await costOf(at, "--by", "model");
    expect(opus).toMatchObject({ of: "claude-opus-4-5", cost_usd: 0.4, estimated_usd: 0, tokens: { output: 900 } });
    expect(cheap).toMatchObject({ of: "claude-haiku-4-5", cost_usd: 0.1, estimated_usd: 0 });
    expect(all).toMatchObject({ of: "all", cost_usd: 0.5, estimated_usd: 0 });
    const shown = await workspace.runs.show(agent);
    expect(shown).toMatchObject({ cost_usd: 0.5, cost_estimated: false, usd_per_hour: null });
    expect((await at.cli("cost", "--chart")).stdout).toMatch(/█.* \$0\.50/);
  });

  it("that was killed, of a model without a price, has an unknown cost and never 0", async () => {
    const at = lab();
    const { env, say } = speaker(at);
    const workspace = at.open({ env });
    const { agent } = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
    say(message("a", "model-of-tomorrow", usage(1000, 10)));
    await until(async () => (await workspace.runs.show(agent)).bytes > 0);
    await workspace.runs.stop([agent], { graceMs: 0 });
    expect(await workspace.runs.show(agent)).toMatchObject({
      cost_usd: null,
      cost_estimated: false,
      tokens: { input: 1000 },
    });
    expect((await at.cli("show", agent)).stdout).toContain("cost unknown");
    expect((await at.cli("summary", agent)).stdout).toContain("cost unknown");
    const [one, all] = await costOf(at, "--by", "model");
    expect(one).toMatchObject({ of: "model-of-tomorrow", cost_usd: null, unpriced: 1 });
    expect(all).toMatchObject({ of: "all", cost_usd: null, unpriced: 1 });
    expect((await at.cli("cost")).stdout).toMatch(/unknown/);
    expect((await at.cli("cost", "--chart")).stdout).toContain("unknown");
    const own = { input: 1000, output: 0, cache_read: 0, cache_write: 0, date: "2026-11-01", source: "contract" };
    writeFileSync(join(at.folder, "prices.json"), JSON.stringify({ models: { "model-of-tomorrow": own } }));
    writeConfig(at.folder, { prices_file: "prices.json" });
    const next = at.open({ env });
    const { agent: later } = await next.runs.start({ driver: "claude", prompt: "Mend the parser" });
    await until(async () => (await next.runs.show(later)).bytes > 0);
    await next.runs.stop([later], { graceMs: 0 });
    expect(await next.runs.show(later)).toMatchObject({ cost_usd: 1, cost_estimated: true });
  });

  it("of a workspace whose ledger is gone, or was never written, is taken up from the registry", async () => {
    const env = { ...process.env, XDG_STATE_HOME: folder() };
    const place = folder();
    const workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, env, cwd: place });
    withEcho(place, env);
    const again = openWorkspace({ workspace: join(place, ".agent-workspace"), env, cwd: place });
    const { agent } = await again.runs.start({ driver: "echo", prompt: "Say it" });
    await again.runs.wait([agent]);
    const before = again.verdicts.cost({ by: "agent" });
    expect(before).toMatchObject([{ of: agent, runs: 1, cost_usd: 0.5, tokens: { input: 100 } }, { of: "all" }]);
    again.close();
    workspace.close();
    const state = join(env.XDG_STATE_HOME, "midwatch");
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(state, `spend.db${suffix}`), { force: true });
    const fresh = openWorkspace({ workspace: join(place, ".agent-workspace"), env, cwd: place });
    expect(fresh.verdicts.cost({ by: "agent" })).toEqual(before);
    expect(fresh.verdicts.cost({ by: "agent" })).toEqual(before);
    expect(fresh.verdicts.costSeries({ by: "agent" })).toMatchObject([
      { of: agent, cost_usd: 0.5 },
    ] as Partial<CostBucket>[]);
    fresh.close();
    // A stranger reads the same from the files alone, and records nothing.
    const stranger = { ...process.env, XDG_STATE_HOME: folder() };
    const read = openWorkspace({ workspace: join(place, ".agent-workspace"), env: stranger, cwd: place });
    expect(read.verdicts.cost({ by: "agent" })).toMatchObject([{ of: agent, cost_usd: 0.5 }, { of: "all" }]);
    expect(() => readFileSync(join(stranger.XDG_STATE_HOME, "midwatch", "spend.db"))).toThrow(/ENOENT/);
    read.close();
  });

  it("ends and is cleaned up whatever becomes of the ledger, which is told once", async () => {
    const env = { ...process.env, XDG_STATE_HOME: folder() };
    const place = folder();
    withEcho(place, env);
    const workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, env, cwd: place });
    const state = join(env.XDG_STATE_HOME, "midwatch");
    writeFileSync(join(state, "spend.db"), Buffer.alloc(9000, 7), { mode: 0o600 });
    const run = async (): Promise<void> => {
      const { agent } = await workspace.runs.start({ driver: "echo", prompt: "Say it" });
      const [shown] = await workspace.runs.wait([agent]);
      expect(shown).toMatchObject({ outcome: "completed", cost_usd: 0.5, cleanup_failures: [] });
    };
    const errors = (): string[] =>
      readFileSync(join(workspace.root, "events.log"), "utf8")
        .split("\n")
        .filter((line) => line.includes('"type":"error"'));
    await run();
    expect(errors()).toEqual([
      expect.stringMatching(/ledger of what agents cost was damaged and is now .*spend\.db\.corrupt\./),
    ]);
    expect(workspace.verdicts.cost()).toMatchObject([{ cost_usd: 0.5 }, { of: "all" }]);
    // A folder in its place: nothing can be written, and nothing is lost.
    workspace.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(state, `spend.db${suffix}`), { force: true });
    mkdirSync(join(state, "spend.db"));
    await run();
    await run();
    const told = errors()
      .slice(1)
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(told.length).toBeGreaterThan(0);
    expect(new Set(told).size).toBe(1);
    expect(workspace.verdicts.cost().at(-1)).toMatchObject({ of: "all", runs: 3, cost_usd: 1.5 });
    rmSync(join(state, "spend.db"), { recursive: true });
    expect(workspace.verdicts.cost().at(-1)).toMatchObject({ of: "all", runs: 3, cost_usd: 1.5 });
    workspace.close();
  });
});

it("all projects of a user are in one ledger, for people and not for agents", async () => {
  const env = { ...process.env, XDG_STATE_HOME: folder() };
  const places = [folder(), folder()];
  for (const place of places) {
    withEcho(place, env);
    const workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, env, cwd: place });
    const { agent } = await workspace.runs.start({ driver: "echo", prompt: "Say it" });
    await workspace.runs.wait([agent]);
    workspace.close();
  }
  const workspace = openWorkspace({
    workspace: join(places[0] as string, ".agent-workspace"),
    env,
    cwd: places[0] as string,
  });
  expect(workspace.verdicts.cost().at(-1)).toMatchObject({ runs: 1, cost_usd: 0.5 });
  const all = workspace.verdicts.cost({ everywhere: true, by: "project" });
  expect(all.map(({ of, cost_usd }) => [of, cost_usd])).toEqual([
    ...places.sort().map((place) => [place, 0.5]),
    ["all", 1],
  ]);
  const [day] = workspace.verdicts.cost({ everywhere: true, by: "day" });
  expect(day).toMatchObject({ of: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), runs: 2, cost_usd: 1 });
  const [row] = await workspace.runs.list({ all: true });
  const asAgent = workspace.as({ agent: row?.agent });
  expect(() => asAgent.verdicts.cost({ everywhere: true })).toThrow(expect.objectContaining({ code: "REFUSED_RIGHT" }));
  workspace.close();
});

it("a file of prices that cannot be used is refused with its field, and counts only when it is trusted", async () => {
  const at = lab();
  writeFileSync(join(at.folder, "prices.json"), JSON.stringify({ models: { m: { input: "1" } } }));
  writeFileSync(join(at.folder, "midwatch.config.json"), JSON.stringify({ prices_file: "prices.json" }));
  expect((await at.cli("cost")).stderr).toContain("not trusted: prices_file");
  trustProject(at.folder);
  expect(await at.cli("cost")).toMatchObject({ code: 2, stderr: expect.stringContaining("models.m.date") });
  writeConfig(at.folder, { prices_file: "none.json" });
  expect(await at.cli("cost")).toMatchObject({ code: 2, stderr: expect.stringContaining("none.json") });
  chmodSync(at.folder, 0o700);
});

function withEcho(place: string, env: NodeJS.ProcessEnv): void {
  const line = JSON.stringify({ type: "result", text: "Said.", usage: { in: 100, out: 20 }, cost: 0.5 });
  writeFileSync(join(place, "echo-agent"), `#!/bin/sh\ncat > /dev/null\necho '${line}'\n`, { mode: 0o755 });
  const driver = {
    program: join(place, "echo-agent"),
    args: [],
    json: true,
    success: { result: { type: "result" } },
    text: "text",
    cost_usd: "cost",
    tokens: { input: "usage.in", output: "usage.out" },
  };
  writeConfig(place, { drivers: { echo: driver } }, env);
}

const WAIT_MS = 60_000;

describe("real CLIs", () => {
  let api: ModelApi;
  beforeAll(async () => {
    api = await ModelApi.start();
  });
  afterAll(() => api.close());
  const calls = Array.from({ length: 12 }, (_, i) => ({ say: `Step ${i}.`, call: { bash: `echo ${i}; sleep 0.1` } }));
  const steps = [...calls, { say: "Done." }];

  it.skipIf(!isInstalled("claude"))(
    "of Claude Code the ledger has an estimate while it works, and at its end what it says itself, by model",
    async () => {
      const at = lab();
      const { record } = await startCli(at, api, "claude", { steps });
      const rounds = at.workspace.verdicts.rounds();
      await until(async () => {
        await rounds.round();
        return (at.workspace.verdicts.cost().at(-1)?.estimated_usd ?? 0) > 0;
      }, WAIT_MS);
      const estimate = at.workspace.verdicts.cost().at(-1)?.cost_usd ?? 0;
      await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
      const lines = text(record.log).trim().split("\n");
      const result = lines
        .map((line) => JSON.parse(line) as Record<string, never>)
        .findLast(({ type }) => type === "result");
      const { total_cost_usd, modelUsage } = result as unknown as {
        total_cost_usd: number;
        modelUsage: Record<string, { costUSD: number }>;
      };
      expect(total_cost_usd).toBeGreaterThan(0);
      expect(estimate).toBeLessThanOrEqual(total_cost_usd * 1.01);
      const records = at.workspace.verdicts.cost({ by: "model" });
      expect(records.at(-1)).toMatchObject({ of: "all", estimated_usd: 0, unpriced: 0 });
      expect(records.at(-1)?.cost_usd).toBeCloseTo(total_cost_usd, 5);
      for (const [model, { costUSD }] of Object.entries(modelUsage))
        expect(records.find(({ of }) => of === modelName(model))?.cost_usd ?? 0, model).toBeCloseTo(costUSD, 5);
    },
    patient(90_000),
  );

  it.skipIf(!isInstalled("codex"))(
    "of Codex it has the price of its tokens, within 1 % of what they cost",
    async () => {
      const at = lab();
      const { record } = await startCli(at, api, "codex", { steps }, { run: ["--model", "gpt-5"] });
      await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
      const { tokens, cost_usd, cost_estimated } = await at.workspace.runs.show(record.agent);
      expect(tokens?.input).toBeGreaterThan(0);
      const price = LISTED.of("gpt-5", tokens) as number;
      expect(cost_estimated).toBe(true);
      expect(Math.abs((cost_usd ?? 0) / price - 1)).toBeLessThan(0.01);
      expect(at.workspace.verdicts.cost().at(-1)).toMatchObject({ runs: 1, unpriced: 0 });
      expect(Math.abs((at.workspace.verdicts.cost().at(-1)?.cost_usd ?? 0) / price - 1)).toBeLessThan(0.01);
    },
    patient(90_000),
  );
});
