/**
 * Hangs in real time: agents that fall silent, scripted ones and the real Claude Code against a model that stops answering, are watched as
 * `midwatch watch` does it, beside one that prints. Each is told as blocked with its cause within 240 s of its last word, and not before
 * the longest healthy wait; the one that prints never is.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentSummary, RunRecord } from "../../src/fleet/workspace.ts";
import { startCli, WORKS } from "../support/cli/cli-trial.ts";
import { isInstalled } from "../support/cli/real-clis.ts";
import { speaker } from "../support/cli/speaker.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const WITHIN_S = 240;
/** The longest healthy wait of 3,293. */
const HEALTHY_S = 138;
/** Beyond any hang that is told. */
const PATIENCE = { API_TIMEOUT_MS: "900000" };

const INIT = { type: "system", subtype: "init", session_id: "s", model: "scripted" };

interface Hang {
  name: string;
  lab: Lab;
  record: RunRecord;
  cause: string;
}

/** `count` times one after the other. */
export function watchHangs(count: number, seed = 1): Promise<Report> {
  return campaign("hangs in real time", count, seed, async (fail, figures) => {
    const api = await ModelApi.start();
    try {
      for (let round = 0; round < count; round++) await together(api, fail, figures);
    } finally {
      await api.close();
    }
  });
}

async function together(api: ModelApi, fail: (what: string) => void, figures: Report["figures"]): Promise<void> {
  const labs: Lab[] = [];
  const lab = (): Lab => {
    const made = new Lab();
    labs.push(made);
    return made;
  };
  const over = new AbortController();
  try {
    const home = lab();
    const scripted = (name: string, lines: readonly object[], then: string): Promise<RunRecord> =>
      home
        .open({ env: speaker(join(home.folder, name), lines, then) })
        .runs.start({ driver: "claude", prompt: "Mend it" });
    const talks = await scripted("talking", [INIT], 'while :; do echo "{}"; sleep 0.5; done');
    const hangs: Hang[] = [
      { name: "hung", lab: home, record: await scripted("hung", [INIT], "exec sleep 3600"), cause: "model_silent" },
      { name: "mute", lab: home, record: await scripted("mute", [], "exec sleep 3600"), cause: "no_first_output" },
    ];
    for (const kind of isInstalled("claude") ? (["silent", "stall"] as const) : []) {
      const scenario = { steps: WORKS, faults: [{ kind }] };
      const { lab: own, record } = await startCli(lab(), api, "claude", scenario, { env: PATIENCE });
      hangs.push({ name: `claude ${kind}`, lab: own, record, cause: "model_silent" });
    }
    const said = new Map<string, AgentSummary>();
    const watching = labs.map(async ({ workspace }) => {
      for await (const summary of workspace.verdicts.follow(over.signal)) {
        if (summary.on_track_status === "blocked")
          said.set(summary.instance_id, said.get(summary.instance_id) ?? summary);
      }
    });
    const deadline = performance.now() + (WITHIN_S + 30) * 1000;
    const told = (): boolean => hangs.every(({ record }) => said.has(record.agent));
    while (!told() && performance.now() < deadline) await sleep(1000);
    over.abort();
    await Promise.all(watching);
    for (const hang of hangs) check(hang, said.get(hang.record.agent), fail, figures);
    if (said.has(talks.agent)) fail("the one that prints was told as blocked");
  } finally {
    over.abort();
    for (const made of labs) await made.end();
  }
}

function check(
  { name, lab, record, cause }: Hang,
  said: AgentSummary | undefined,
  fail: (what: string) => void,
  figures: Report["figures"],
): void {
  if (said === undefined) {
    fail(`${name}: not told`);
    return;
  }
  const log = statSync(record.log);
  const lastMs = log.size > 0 ? log.mtimeMs : Date.parse(lab.startFact(record).started_at);
  const seconds = (Date.parse(said.since) - lastMs) / 1000;
  figures[name] = `${said.cause} after ${seconds.toFixed(0)} s`;
  if (said.cause !== cause) fail(`${name}: ${said.cause} instead of ${cause}`);
  if (seconds > WITHIN_S || seconds < HEALTHY_S) fail(`${name}: told after ${seconds.toFixed(0)} s`);
}
