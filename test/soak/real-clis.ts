/**
 * Every real CLI through everything that a model API, a signal or a stop can do to it. However it ends, its log is whole, its end is
 * told and nothing of it lives. `node test/soak/real-clis.ts --record [CLI-CASE...]` keeps the streams as test/fixtures/streams.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../src/core/types.ts";
import { type CliTrial, startCli, stuckInTool, WORKS, wrongAtEnd } from "../support/cli/cli-trial.ts";
import { CLI_NAMES, type CliName, isInstalled } from "../support/cli/real-clis.ts";
import { keepStream } from "../support/cli/stream-fixture.ts";
import { identify, signal } from "../support/fault/keeper-kill.ts";
import type { Fault, Scenario, Step } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { Lab, until } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

/** Some CLIs go on trying for many minutes; then they are stopped, which is one more end that has to hold. */
const PATIENCE_MS = 120_000;
/** What a CLI tells of a call or an answer comes some moments behind it. */
const PRINTS_MS = 500;
const LANES = 2;

interface Case {
  scenario(lab: Lab): Scenario;
  outcome: Outcome;
  mcp?: boolean;
  /** What happens to it while it runs. */
  act?(trial: CliTrial, api: ModelApi): Promise<unknown>;
}

const failing = (outcome: Outcome, ...faults: Fault[]): Case => ({
  scenario: () => ({ steps: WORKS, faults }),
  outcome,
});

const stop = ({ lab, record }: CliTrial): Promise<unknown> =>
  lab.workspace.runs.stop([record.agent], { graceMs: 1000 });

/** The model falls silent: nobody but a stop ends that soon. */
const hanging = (kind: "silent" | "stall"): Case => ({
  ...failing("stopped", { kind }),
  async act(trial, api) {
    await until(() => api.steps(trial.scenario).some(({ fault }) => fault === kind), 45_000);
    await sleep(PRINTS_MS);
    await stop(trial);
  },
});

const inTool = (outcome: Outcome, act: (trial: CliTrial) => unknown): Case => ({
  scenario: (lab) => ({ steps: stuckInTool(lab) }),
  outcome,
  async act(trial) {
    await until(() => trial.lives().length >= 2, 45_000);
    await sleep(PRINTS_MS);
    await act(trial);
  },
});

const toMain =
  (name: NodeJS.Signals) =>
  ({ record }: CliTrial): void =>
    signal(identify(record.pid as number), name);

const ASKS_MCP: Step = { call: { mcp: "stubborn", tool: "echo", input: { text: "are you there" } } };
const QUOTA = "You exceeded your current quota. Your limit resets at 2030-01-01T00:00:00Z.";

const CASES: Readonly<Record<string, Case>> = {
  success: { scenario: () => ({ steps: WORKS.toSpliced(-1, 0, ASKS_MCP) }), outcome: "completed", mcp: true },
  unauthorized: failing("failed", { kind: "status", status: 401, message: "The key is not valid" }),
  "rate-limited": failing("completed", { kind: "status", status: 429, headers: { "retry-after": "1" }, times: 1 }),
  quota: failing("failed", { kind: "status", status: 429, message: QUOTA, code: "insufficient_quota" }),
  overloaded: failing("failed", { kind: "status", status: 529, message: "Overloaded" }),
  cut: failing("failed", { kind: "cut" }),
  silent: hanging("silent"),
  stalled: hanging("stall"),
  stopped: inTool("stopped", stop),
  terminated: inTool("failed", toMain("SIGTERM")),
  killed: inTool("failed", toMain("SIGKILL")),
};

interface Wishes {
  /** Keep the streams as fixtures. */
  record?: boolean;
  /** Only these, as CLI-CASE. */
  only?: readonly string[];
  tell?: (line: string) => void;
}

export function realClis(count: number, seed = 1, { record, only = [], tell }: Wishes = {}): Promise<Report> {
  return campaign("real CLIs", count, seed, async (fail, figures) => {
    const clis = CLI_NAMES.filter(isInstalled);
    const matrix = clis
      .flatMap((cli) => Object.keys(CASES).map((name) => ({ cli, name })))
      .filter(({ cli, name }) => only.length === 0 || only.includes(`${cli}-${name}`));
    if (matrix.length === 0) fail("there is nothing to run: no CLI is installed, or no trial has this name");
    const waiting = Array.from({ length: count }, () => matrix).flat();
    const api = await ModelApi.start();
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { cli, name } = next;
        const begun = performance.now();
        const say = (what: unknown): void => fail(`${cli} ${name}: ${what}`);
        const end = await trial(api, cli, name, say, record).catch(say);
        if (!end) continue;
        const { outcome, exit, requests } = end;
        figures[`${cli} ${outcome}`] = Number(figures[`${cli} ${outcome}`] ?? 0) + 1;
        const seconds = ((performance.now() - begun) / 1000).toFixed(1);
        tell?.(`${cli} ${name}: ${outcome} (${exit.signal ?? exit.code}), ${requests} requests, ${seconds} s`);
      }
    };
    try {
      await Promise.all(Array.from({ length: LANES }, lane));
    } finally {
      await api.close();
    }
  });
}

async function trial(api: ModelApi, cli: CliName, name: string, say: (what: string) => void, record = false) {
  const { scenario, outcome, mcp = false, act } = CASES[name] as Case;
  const lab = new Lab({ grace: "1s" });
  try {
    const script = scenario(lab);
    const run = await startCli(lab, api, cli, script, { mcp });
    const { agent } = run.record;
    await act?.(run, api);
    const [waited] = await lab.workspace.runs.wait([agent], { timeoutMs: PATIENCE_MS });
    const wanted = waited?.outcome === null ? "stopped" : outcome;
    if (waited?.outcome === null) await stop(run);
    const over = await lab.workspace.runs.show(agent);
    if (over.outcome !== wanted) say(`${over.outcome} instead of ${wanted}`);
    for (const wrong of await wrongAtEnd(run)) say(wrong);
    const steps = api.steps(run.scenario);
    if (steps.length === 0) say("it never asked the model");
    if (script.faults && !steps.some(({ fault }) => fault)) say("it met no fault");
    const counted = { requests: steps.length, usage: api.usage(run.scenario) };
    if (record) keepStream(run, name, over, counted);
    return { ...over, ...counted };
  } finally {
    await lab.end();
  }
}

if (import.meta.main) {
  const [first, ...only] = process.argv.slice(2);
  const { failures, tookMs } = await realClis(1, 1, { record: first === "--record", only, tell: console.log });
  console.log(failures.length === 0 ? `all held in ${(tookMs / 1000).toFixed(0)} s` : failures.join("\n"));
  process.exit(failures.length === 0 ? 0 : 1);
}
