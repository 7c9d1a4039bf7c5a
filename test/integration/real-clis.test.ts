import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { DoneFact, Report, Tokens } from "../../src/core/types.ts";
import { type CliTrial, startCli, stuckInTool, WORKS, wrongAtEnd } from "../support/cli/cli-trial.ts";
import { type CliName, isInstalled } from "../support/cli/real-clis.ts";
import { identify, signal } from "../support/fault/keeper-kill.ts";
import { isAlive } from "../support/fault/zoo.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { text, until } from "../support/workspace.ts";

const TIMEOUT_MS = patient(90_000);

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

async function over({ lab: at, record }: CliTrial) {
  const [shown] = await at.workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
  return shown;
}

/** Until the MCP server has answered and the tool's two processes live. */
async function inTool(cli: CliName, tier: Tier): Promise<CliTrial> {
  const at = lab({ grace: "1s" });
  const steps = [{ call: { mcp: "stubborn", tool: "echo", input: { text: "are you there" } } }, ...stuckInTool(at)];
  const trial = await startCli(at, api, cli, { steps }, { mcp: true, tier });
  await until(() => trial.lives().length >= 3, 45_000, `${cli} calls its tool: ${text(trial.record.log).slice(-500)}`);
  expect(text(trial.record.log)).toContain("echo: are you there");
  return trial;
}

/** What the CLI itself says it used. */
const OWN_USAGE: Readonly<Record<"claude" | "codex", (log: string) => Tokens>> = {
  claude(log) {
    const { modelUsage } = last(log, "result") as { modelUsage: Record<string, Record<string, number>> };
    const sum = (key: string): number =>
      Object.values(modelUsage).reduce((total, model) => total + (model[key] ?? 0), 0);
    return {
      input: sum("inputTokens"),
      output: sum("outputTokens"),
      cache_read: sum("cacheReadInputTokens"),
      cache_write: sum("cacheCreationInputTokens"),
    };
  },
  codex(log) {
    const { usage } = last(log, "turn.completed") as { usage: Record<string, number> };
    const { input_tokens = 0, cached_input_tokens = 0, output_tokens = 0, cache_write_input_tokens = 0 } = usage;
    return {
      input: input_tokens - cached_input_tokens,
      output: output_tokens,
      cache_read: cached_input_tokens,
      cache_write: cache_write_input_tokens,
    };
  },
};

function last(log: string, type: string): unknown {
  const lines = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string });
  return lines.findLast((line) => line.type === type);
}

describe.each(["claude", "codex"] as const)("%s, the real one", (cli) => {
  const real = it.skipIf(!isInstalled(cli));

  real(
    "R-000.4: works with its own tools; all it said is in the log, byte for byte, and nothing is left",
    async () => {
      const speech = Array.from({ length: 20_000 }, (_, i) => `word${i}`).join(" ");
      const trial = await startCli(lab(), api, cli, { steps: [...WORKS.slice(0, -1), { say: speech }] }, { mcp: true });
      const shown = await over(trial);
      expect(shown).toMatchObject({ phase: "drained", outcome: "completed", reason: null, exit: { code: 0 } });
      expect(readFileSync(join(trial.work, "result.txt"), "utf8")).toBe("one\ntwo\n");
      expect(await wrongAtEnd(trial)).toEqual([]);
      const log = readFileSync(trial.record.log, "utf8");
      expect(log).toContain(speech);
      expect(OWN_USAGE[cli](log)).toEqual(api.usage(trial.scenario));
      expect(shown?.tokens).toEqual(OWN_USAGE[cli](log));
      expect(api.steps(trial.scenario).map(({ step }) => step)).toEqual([0, 1, 2, 3]);
    },
    TIMEOUT_MS,
  );

  real.each(["auto", "subreaper"] as Tier[])(
    "R-002.2, R-002.18, R-004.2: stopped in a tool call, stubborn children and MCP server and all (tier %s)",
    async (tier) => {
      const trial = await inTool(cli, tier);
      const { code, stdout } = await trial.lab.cli("stop", "--json", "--grace", "1s", trial.record.agent);
      expect(code).toBe(0);
      const report = JSON.parse(stdout) as Report;
      expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [], already_stopped: false });
      expect(trial.lives().filter(isAlive)).toEqual([]);
      expect(await wrongAtEnd(trial)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  real(
    "R-002.16, R-004.5: when its main process is killed, the keeper ends what it leaves",
    async () => {
      const trial = await inTool(cli, "auto");
      const [server] = trial.lives();
      signal(identify(trial.record.pid as number), "SIGKILL");
      expect(await over(trial)).toMatchObject({ phase: "drained", outcome: "failed", exit: { signal: "SIGKILL" } });
      const done = trial.lab.fact<DoneFact>(trial.record, "done.json");
      // Codex has its tools killed by the kernel with itself; its MCP server it leaves as the others do.
      expect(done?.processes.map(({ pid }) => pid)).toContain(server?.pid);
      expect(await wrongAtEnd(trial)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe.each(["opencode", "gemini"] as const)("%s, the real one", (cli) => {
  const real = it.skipIf(!isInstalled(cli));

  real(
    "R-000.4: works with its own tools; the log is whole, and nothing is left",
    async () => {
      const trial = await startCli(lab(), api, cli, { steps: WORKS });
      expect(await over(trial)).toMatchObject({ phase: "drained", outcome: "completed", exit: { code: 0 } });
      expect(readFileSync(join(trial.work, "result.txt"), "utf8")).toBe("one\ntwo\n");
      expect(await wrongAtEnd(trial)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
