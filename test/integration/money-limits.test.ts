import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LimitFact } from "../../src/core/needs-watch.ts";
import type { StopFact, Tokens } from "../../src/core/types.ts";
import { moneyTrial } from "../soak/money-limits.ts";
import { startCli } from "../support/cli/cli-trial.ts";
import { cliCommand, isInstalled } from "../support/cli/real-clis.ts";
import { speaker } from "../support/cli/speaker.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { CLI, type Lab, text, until } from "../support/workspace.ts";

const TIMEOUT_MS = 120_000;
const WAIT_MS = 60_000;

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

const usage = { input_tokens: 20_000, output_tokens: 100 };
const message = (id: string, more: object = {}): object => ({
  type: "assistant",
  message: { id, model: "claude-opus-4-5", content: [{ type: "text", text: id }], usage },
  ...more,
});

/** Keeps house beside the test, as `midwatch up` does. */
function keeping(at: Lab): AsyncDisposable {
  const ending = new AbortController();
  const up = (async () => {
    for await (const _ of at.workspace.up.keep({ signal: ending.signal, tell: () => undefined }));
  })();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await up;
    },
  };
}

const events = (at: Lab, type: string): { agent: string; content: string; data: Record<string, unknown> }[] =>
  text(join(at.root, "events.log"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter((event) => event.type === type);

async function speaks(at: Lab, said: readonly object[], then: string, config: object): ReturnType<typeof at.run> {
  const folder = mkdtempSync(join(at.folder, "fake-"));
  const workspace = at.open({ env: speaker(folder, said, then), config: { grace: "500ms", ...config } });
  return await workspace.runs.start({ driver: "claude", prompt: "loop" });
}

// The others of them are in the soak.
const LOOPS = (
  [
    ["fake", "tokens"],
    ["claude", "tokens"],
    ["codex", "cost"],
  ] as const
).filter(([cli]) => cli === "fake" || isInstalled(cli));
it.each(LOOPS)(
  "%s that loops, its calls of 2 s, ends by its limit of %s, at most one call over it, and says what it came to",
  async (cli, kind) => {
    const { shown, spent, limit, call } = await moneyTrial(cli, kind, "up");
    expect(shown).toMatchObject({ outcome: "limit", limit: { limit: kind, value: limit } });
    expect(spent - limit).toBeLessThanOrEqual(call);
    expect(shown.limit?.overshoot).toBeLessThanOrEqual(1.01 * call);
    expect(shown.reason).toMatch(/ spent in the end, .* over\.$/);
  },
  TIMEOUT_MS,
);

it("what it came to is told alike by show, ls and the journal; a stop of another does not hold it up", async () => {
  const at = lab();
  await using _ = keeping(at);
  // It ignores being asked, and takes the whole of its grace.
  const deaf = "trap '' INT TERM; while :; do sleep 0.1; done";
  const stubborn = await speaks(at, [message("m-1")], deaf, { grace: "60s", token_limit: 100 });
  await until(async () => (await at.workspace.runs.show(stubborn.agent)).phase === "stopping", WAIT_MS);
  const { agent } = await speaks(at, [message("m-1"), message("m-1")], "exec sleep 1000", { cost_limit: 0.05 });
  const [shown] = await at.workspace.runs.wait([agent], { timeoutMs: WAIT_MS });
  const limit = { limit: "cost", value: 0.05, spent: expect.closeTo(0.1025, 6), overshoot: expect.closeTo(0.0525, 6) };
  expect(shown).toMatchObject({
    outcome: "limit",
    reason: "Stopped: $0.05 cost limit reached. $0.10 spent in the end, $0.0525 over.",
    limit: { ...limit, at: expect.any(String) },
  });
  expect((await at.workspace.runs.list()).find((one) => one.agent === agent)?.limit).toEqual(shown?.limit);
  const [ended] = events(at, "agent.ended").filter((one) => one.agent === agent);
  expect(ended).toMatchObject({
    content: `${agent} ended: limit. $0.10 spent in the end, $0.0525 over.`,
    data: { limit },
  });
  expect(events(at, "agent.limit").filter((one) => one.agent === agent)).toMatchObject([
    { data: { limit: "cost", value: 0.05, action: "stop" } },
  ]);
  expect((await at.workspace.runs.show(stubborn.agent)).phase).toBe("stopping");
  await at.workspace.runs.stop([stubborn.agent], { graceMs: 0 });
});

it("a run that ignores the interrupt for its grace is stopped", async () => {
  const at = lab();
  await using _ = keeping(at);
  const config = { token_limit: 100, limit_policy: "interrupt" };
  const record = await speaks(at, [message("m-1")], "trap '' INT; while :; do sleep 0.1; done", config);
  const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
  expect(shown).toMatchObject({ outcome: "limit", limit: { limit: "tokens", value: 100, spent: 20_100 } });
  const fact = at.fact<LimitFact>(record, "limit.json");
  const stop = at.fact<StopFact>(record, "stop.json");
  expect(fact).toMatchObject({ limit: "tokens", action: "interrupt" });
  expect(Date.parse(stop?.requested_at ?? "") - Date.parse(fact?.at ?? "")).toBeGreaterThanOrEqual(500);
});

it("notify: agent, limit and value are in the event, in ls and show, and it goes on", async () => {
  const at = lab();
  const config = { cost_limit: 0.05, limit_policy: "notify" };
  const { agent } = await speaks(at, [message("m-1")], "exec sleep 1000", config);
  {
    await using _ = keeping(at);
    await until(() => events(at, "agent.limit").length > 0, WAIT_MS);
  }
  {
    await using _ = keeping(at); // Whoever comes next does not tell it again.
    await until(() => at.workspace.verdicts.stored(agent, 1) !== undefined, WAIT_MS);
  }
  expect(events(at, "agent.limit")).toMatchObject([
    {
      agent,
      content: `${agent} passed its cost limit: ~0.10 USD, at most 0.05`,
      data: { value: 0.05, action: "notify" },
    },
  ]);
  const why = "Passed its cost limit: $0.10 spent, at most $0.05; it goes on.";
  expect(await at.workspace.runs.show(agent)).toMatchObject({
    phase: "running",
    limit: { limit: "cost", value: 0.05 },
    attention: { kind: "limit", why, next: `midwatch stop ${agent}` },
  });
  const { stdout } = await at.cli("ls", "--json");
  expect(JSON.parse(stdout).attention).toMatchObject({ kind: "limit", why });
  await at.workspace.runs.stop([agent], { graceMs: 0 });
  expect((await at.workspace.runs.show(agent)).outcome).toBe("stopped");
});

// Gemini CLI tells its tokens when it ends.
describe.each(["claude", "codex", "opencode"] as const)("%s with a limit of tokens", (cli) => {
  it.skipIf(!isInstalled(cli))(
    "that interrupts it ends with outcome limit",
    async () => {
      const at = lab();
      await using _ = keeping(at);
      const steps = [{ say: "Once more.", call: { bash: "sleep 1; echo again" } }];
      const run = ["--limit-tokens", "2500", "--limit-policy", "interrupt"];
      const { record } = await startCli(at, api, cli, { steps, thinkMs: 500 }, { run });
      const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
      expect(shown).toMatchObject({ outcome: "limit", limit: { limit: "tokens", value: 2500 } });
      expect(shown?.limit?.spent).toBeGreaterThan(2500);
    },
    TIMEOUT_MS,
  );
});

it.skipIf(!isInstalled("claude"))(
  "Claude Code's messages and those of its sub-agents count while it runs, each once, with what they came to",
  async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const spawns = {
      own: "Agent",
      input: { description: "Says hello", prompt: "Say hello", subagent_type: "general-purpose" },
    };
    const waits = { bash: `for i in $(seq 600); do [ -e ${go} ] && break; sleep 0.1; done` };
    const steps = [{ say: "I let others work.", call: spawns }, { say: "I wait.", call: waits }, { say: "Done." }];
    const { record, scenario } = await startCli(at, api, "claude", { steps });
    await until(() => text(record.log).includes("I wait."), WAIT_MS);
    const sum = (tokens: Tokens | null | undefined): number =>
      tokens ? tokens.input + tokens.output + tokens.cache_read + tokens.cache_write : 0;
    // The transcript is written a moment after the stream.
    await until(
      async () => sum((await at.workspace.verdicts.of(record.agent)).tokens) === sum(api.usage(scenario)),
      WAIT_MS,
    );
    expect(api.steps(scenario).length).toBeGreaterThan(2);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "running" });
    writeFileSync(go, "");
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
    expect(shown).toMatchObject({ outcome: "completed", subagents: expect.any(Number) });
    expect(shown?.subagents).toBeGreaterThan(0);
    expect(sum(shown?.tokens)).toBe(sum(api.usage(scenario)));
  },
  TIMEOUT_MS,
);

it.skipIf(!isInstalled("codex"))(
  "Codex's sub-agents count while it runs, each thread once",
  async () => {
    const at = lab();
    const spawns = { own: "spawn_agent", input: { message: "Say hello", task_name: "hello" } };
    const waits = { bash: "sleep 2" };
    const steps = [{ say: "I let others work.", call: spawns }, { call: waits }, { say: "They did." }];
    const { record, scenario } = await startCli(at, api, "codex", { steps }, { run: ["--limit-tokens", "1000000"] });
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
    const { input, output, cache_read } = api.usage(scenario);
    const tokens = shown?.tokens;
    expect((tokens?.input ?? 0) + (tokens?.output ?? 0) + (tokens?.cache_read ?? 0)).toBe(input + output + cache_read);
  },
  TIMEOUT_MS,
);

it.skipIf(!isInstalled("codex"))(
  "Codex's rollout files are not read through a link: then its tokens are as its stream tells",
  async () => {
    const at = lab();
    const [elsewhere, home] = [join(at.folder, "elsewhere"), join(at.folder, "linked")];
    mkdirSync(elsewhere);
    mkdirSync(home);
    symlinkSync(elsewhere, join(home, "sessions"));
    const steps = [{ say: "Once more.", call: { bash: "echo again" } }];
    cliCommand("codex", { home, url: api.play(basename(at.folder), { steps }) });
    const { record, scenario } = await startCli(
      at,
      api,
      "codex",
      { steps, thinkMs: 200 },
      { env: { CODEX_HOME: home } },
    );
    await until(() => api.steps(scenario).length > 3, WAIT_MS);
    await at.workspace.runs.stop([record.agent]);
    expect(globSync("**/rollout-*.jsonl", { cwd: elsewhere })).toHaveLength(1);
    expect((await at.workspace.runs.show(record.agent)).tokens).toBeNull();
  },
  TIMEOUT_MS,
);

const script = existsSync("/usr/bin/script");
if (!script) console.warn("SKIPPED: there is no script(1). Next: apt-get install bsdutils");

it.skipIf(!script)("`wait` at a terminal draws a line that it clears at the end; elsewhere it is silent", async () => {
  const at = lab();
  const go = join(at.folder, "go");
  const said = [message("m-1"), message("m-2")];
  const record = await speaks(at, said, `until [ -e '${go}' ]; do sleep 0.05; done`, {});
  const command = `stty cols 120 rows 30; '${process.execPath}' '${CLI}' --workspace '${at.root}' wait ${record.agent}`;
  const file = join(at.folder, "screen");
  const terminal = at.watch(spawn("script", ["-qefc", command, file], { cwd: at.folder, stdio: "ignore" }));
  const screen = (): string => readFileSync(file, "utf8");
  const line = new RegExp(`${record.agent} · running · \\S+ · 40.2k tokens · ~\\$0.2.* · for \\d+s · last output`);
  await until(() => existsSync(file) && line.test(screen()), WAIT_MS, "its line");
  const ended = once(terminal, "exit");
  writeFileSync(go, "");
  await ended;
  // Erased, and then the table.
  expect(screen().split("\u001b[J").at(-1)).toContain("AGENT ");
  const quiet = await at.cli("wait", record.agent);
  expect(quiet.stderr).not.toContain(" · ");
});
