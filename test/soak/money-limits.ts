/**
 * Limits of tokens and cost against agents that loop for ever: a scripted one, the real Claude Code and the real Codex, whose calls take two
 * seconds. Each ends with outcome limit, and what it spent by the model's own account is at most one call above the limit.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ConfigInput } from "../../src/core/config/config.ts";
import type { ShowRecord, Tokens } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { LISTED } from "../../src/spend/prices.ts";
import { startCli } from "../support/cli/cli-trial.ts";
import { isInstalled } from "../support/cli/real-clis.ts";
import { speaker } from "../support/cli/speaker.ts";
import { CompanionLab } from "../support/companion.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { Lab, lives, text, until } from "../support/workspace.ts";
import { campaign, percentile, type Report, rounds } from "./report.ts";

const CALL_MS = 2000;
/** Behind the last step it is repeated: it never ends by itself. */
const LOOPS = { steps: [{ say: "Once more.", call: { bash: "echo again" } }], thinkMs: CALL_MS };
const CLIS = ["fake", "claude", "codex"] as const;
const MODELS = { fake: "claude-opus-4-5", claude: "claude-opus-4-5", codex: "gpt-5.2-codex" };
const WAIT_MS = 90_000;

type Cli = (typeof CLIS)[number];
type Kind = "tokens" | "cost";

/** Who watches: `midwatch up`, the companion, or one that is killed three times meanwhile. */
type Watcher = "up" | "companion" | "killed companion";
/** So many calls come to the limit; a killed one needs time to come back. */
const CALLS: Readonly<Record<Watcher, number>> = { up: 3.3, companion: 3.3, "killed companion": 11.3 };
const KILLS = 3;

interface Trial {
  shown: ShowRecord;
  /** By the model's account, in the unit of the limit. */
  spent: number;
  limit: number;
  /** The dearest call. */
  call: number;
}

export const moneyLimits = (count: number, seed: number): Promise<Report> => trials(count, seed, "up");
export const moneyByCompanion = (count: number, seed: number): Promise<Report> => trials(count, seed, "companion");
export const moneyByKilled = (count: number, seed: number): Promise<Report> => trials(count, seed, "killed companion");

function trials(count: number, seed: number, watcher: Watcher): Promise<Report> {
  return campaign(`limits of money, watched by ${watcher}`, count, seed, async (fail, figures) => {
    const clis = CLIS.filter((cli) => cli === "fake" || isInstalled(cli));
    const over: number[] = [];
    const seen: Record<string, number> = {};
    for (const round of rounds(count)) {
      const cli = clis[(round + seed) % clis.length] as Cli;
      const kind: Kind = Math.floor((round + seed) / clis.length) % 2 === 0 ? "tokens" : "cost";
      const { shown, spent, limit, call } = await moneyTrial(cli, kind, watcher);
      const calls = (spent - limit) / call;
      over.push(calls * 100);
      seen[`${cli} ${kind}`] = (seen[`${cli} ${kind}`] ?? 0) + 1;
      const what = `round ${round}, ${cli}, ${kind} ${limit}: ${shown.outcome}, ${JSON.stringify(shown.limit)}, spent ${spent}`;
      if (shown.outcome !== "limit" || shown.limit?.limit !== kind) fail(what);
      else if (calls > 1) fail(`${what}, ${calls.toFixed(2)} calls over`);
      // What is told at the end is what the model counted, but for a call that was cut off.
      else if (Math.abs((shown.limit.spent ?? 0) - spent) > 1.01 * call) fail(`${what}: not what was told`);
    }
    Object.assign(figures, seen);
    figures["calls over, median"] = (percentile(over, 0.5) / 100).toFixed(2);
    figures["calls over, most"] = (Math.max(...over) / 100).toFixed(2);
  });
}

/** One agent that loops until its limit, from start to end. */
export async function moneyTrial(cli: Cli, kind: Kind, watcher: Watcher, config: ConfigInput = {}): Promise<Trial> {
  const lab = watcher === "up" ? new Lab(config) : new CompanionLab();
  const api = await ModelApi.start();
  const ending = new AbortController();
  const up = watcher === "up" ? keep(lab, ending.signal) : undefined;
  try {
    const call = costOf(kind, MODELS[cli], { input: 1000, output: 100, cache_read: 50, cache_write: 7 });
    const most = CALLS[watcher] * call;
    const limit = kind === "tokens" ? Math.round(most) : Number(most.toFixed(4));
    const flag = [kind === "tokens" ? "--limit-tokens" : "--limit-cost", String(limit)];
    const started = cli === "fake" ? await fake(lab, kind, limit) : await real(lab, api, cli, flag);
    if (watcher === "killed companion") await killed(lab as CompanionLab);
    const [shown] = await lab.workspace.runs.wait([started.record.agent], { timeoutMs: patient(WAIT_MS) });
    const { spent, dearest } = started.counted(kind);
    return { shown: shown as ShowRecord, spent, limit, call: dearest };
  } finally {
    ending.abort();
    await up;
    await lab.end();
    await api.close();
  }
}

/** Each time that it has come back and watches. */
async function killed(lab: CompanionLab): Promise<void> {
  for (let n = 0; n < KILLS; n++) {
    const one = await lab.comes(patient(20_000));
    process.kill(one.pid, "SIGKILL");
    await until(() => !lives(one));
  }
}

interface Started {
  record: RunRecord;
  counted(kind: Kind): { spent: number; dearest: number };
}

async function real(lab: Lab, api: ModelApi, cli: "claude" | "codex", flag: string[]): Promise<Started> {
  const { record, scenario } = await startCli(lab, api, cli, LOOPS, { run: [...flag, "--model", MODELS[cli]] });
  return {
    record,
    counted(kind) {
      const calls = api.steps(scenario).flatMap(({ sent }) => (sent === null ? [] : [costOf(kind, MODELS[cli], sent)]));
      return { spent: calls.reduce((sum, one) => sum + one, 0), dearest: Math.max(...calls) };
    },
  };
}

/** Prints a message for each call, as Claude Code does. */
async function fake(lab: Lab, kind: Kind, limit: number): Promise<Started> {
  const tokens: Tokens = { input: 1000, output: 100, cache_read: 50, cache_write: 7 };
  const usage = { input_tokens: 1000, output_tokens: 100, cache_read_input_tokens: 50, cache_creation_input_tokens: 7 };
  const message = { id: "m-N", model: MODELS.fake, content: [{ type: "text", text: "Once more." }], usage };
  const line = JSON.stringify({ type: "assistant", message }).replace("m-N", "m-'$n'");
  const loop = `n=0; while :; do sleep ${CALL_MS / 1000}; n=$((n+1)); echo '${line}'; done`;
  const folder = join(lab.folder, "fake");
  mkdirSync(folder);
  const limits = kind === "tokens" ? { token_limit: limit } : { cost_limit: limit };
  const workspace = lab.open({ env: speaker(folder, [], loop), config: { grace: "500ms", ...limits } });
  const record = await workspace.runs.start({ driver: "claude", prompt: "Loop" });
  const each = costOf(kind, MODELS.fake, tokens);
  return {
    record,
    counted: () => ({ spent: (text(record.log).split('"assistant"').length - 1) * each, dearest: each }),
  };
}

function costOf(kind: Kind, model: string, tokens: Tokens): number {
  const { input, output, cache_read, cache_write } = tokens;
  return kind === "cost" ? (LISTED.of(model, tokens) ?? 0) : input + output + cache_read + cache_write;
}

async function keep(lab: Lab, signal: AbortSignal): Promise<void> {
  for await (const _ of lab.workspace.up.keep({ signal, tell: () => undefined }));
}
