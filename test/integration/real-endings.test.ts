import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCli } from "../support/cli/cli-trial.ts";
import { cliCommand, isInstalled } from "../support/cli/real-clis.ts";
import { midwatch } from "../support/cli.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { text, until } from "../support/workspace.ts";

const TIMEOUT_MS = 90_000;
const WAIT_MS = 60_000;

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

it.skipIf(!isInstalled("claude"))(
  "Claude Code that ends on a deferred call waits for a person: not completed, and `show` names the call",
  async () => {
    const at = lab();
    const hook = `echo '${JSON.stringify({
      hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "defer" },
    })}'`;
    const settings = join(at.folder, "settings.json");
    const PreToolUse = [{ matcher: "Bash", hooks: [{ type: "command", command: hook }] }];
    writeFileSync(settings, JSON.stringify({ hooks: { PreToolUse } }));
    const steps = [{ say: "I clean up.", call: { bash: "rm -f victim.txt" } }, { say: "Clean." }];
    const { record } = await startCli(at, api, "claude", { steps }, { args: ["--settings", settings] });
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
    expect(text(record.log)).toContain("tool_deferred");
    expect(shown).toMatchObject({
      outcome: "failed",
      exit: { code: 0 },
      reason: "It deferred its call of Bash and waits for a person to decide.",
      deferred: { tool: "Bash", input: { command: "rm -f victim.txt" } },
    });
  },
  TIMEOUT_MS,
);

it.skipIf(!isInstalled("claude"))(
  "Claude Code keeps to its limit of cost by itself, to a call, with nobody who watches; so does what goes on with its session",
  async () => {
    const at = lab();
    const steps = Array.from({ length: 40 }, (_, i) => ({ say: `Step ${i}.`, call: { bash: `echo ${i}` } }));
    const { record, work } = await startCli(at, api, "claude", { steps }, { run: ["--limit-cost", "0.02"] });
    const ended = async (run: number): Promise<void> => {
      const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
      expect(shown).toMatchObject({
        run,
        outcome: "limit",
        reason: expect.stringMatching(/^It reached its budget\. \$0\.0\d+ spent in the end, /),
      });
      const calls = text(record.log).split('"type":"tool_use"').length - 1;
      const cost = shown?.cost_usd ?? 0;
      expect(cost).toBeGreaterThan(0.02);
      expect(cost).toBeLessThan(0.02 + (2 * cost) / calls);
    };
    await ended(1);
    const { env } = cliCommand("claude", {
      home: join(at.folder, "home"),
      url: api.play(`${record.agent}-2`, { steps }),
      mcp: {},
    });
    const again = ["restart", "--workspace", at.root, record.agent, "--resume", "Go on"];
    expect((await midwatch(work, again, env)).code).toBe(0);
    await ended(2);
  },
  TIMEOUT_MS,
);

it.skipIf(!isInstalled("claude"))(
  "Claude Code that finishes after its keeper was killed is lost, with what its result says",
  async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const waits = `for i in $(seq 600); do [ -e ${go} ] && break; sleep 0.1; done`;
    const steps = [{ say: "I wait.", call: { bash: waits } }, { say: "All is done." }];
    const { record } = await startCli(at, api, "claude", { steps }, { tier: "subreaper" });
    await until(() => text(record.log).includes("I wait."), WAIT_MS, "its tool call");
    await kill9(keeperOf(at, record));
    writeFileSync(go, "");
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
    expect(shown).toMatchObject({
      outcome: "lost",
      exit: { code: null, signal: null },
      reason: "Its result says completed; nobody saw its exit.",
    });
    const { stdout } = await at.cli("status", "--json");
    expect(JSON.parse(stdout).needs).toMatchObject([{ agent: record.agent, need: "lost", why: shown?.reason }]);
  },
  TIMEOUT_MS,
);

it.skipIf(!isInstalled("codex"))(
  "Codex's sub-agents are counted",
  async () => {
    const at = lab();
    const spawn = { own: "spawn_agent", input: { message: "Say hello", task_name: "hello" } };
    const steps = [{ say: "I let others work.", call: spawn }, { say: "They did." }];
    const { record } = await startCli(at, api, "codex", { steps });
    const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
    // A sub-agent plays the same script: it starts one of its own when the first has not ended by then.
    const started = text(record.log).match(/"receiver_thread_ids":\["[^"]+"/g) ?? [];
    expect({ outcome: shown?.outcome, subagents: shown?.subagents, log: text(record.log) }).toMatchObject({
      outcome: "completed",
      subagents: Math.max(1, new Set(started).size),
    });
  },
  TIMEOUT_MS,
);

describe.each(["claude", "codex", "gemini", "opencode"] as const)("%s", (cli) => {
  it.skipIf(!isInstalled(cli))(
    "interrupted because it passed its time limit, it ended by the limit and says so",
    async () => {
      const at = lab();
      const run = ["--limit-wall", "5s", "--limit-policy", "interrupt"];
      const steps = [{ say: "I wait.", call: { bash: "timeout 60 tail -f /dev/null" } }, { say: "All is done." }];
      const { record } = await startCli(at, api, cli, { steps }, { run });
      const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: WAIT_MS });
      // OpenCode passes over an interrupt now and then; what goes on for its grace is stopped.
      const stopped = cli === "opencode" && shown?.reason === "Stopped: 5 s time limit reached.";
      const reason = stopped ? shown.reason : "was interrupted: it passed its wall limit";
      expect(shown).toMatchObject({ outcome: "limit", reason });
    },
    TIMEOUT_MS,
  );
});
