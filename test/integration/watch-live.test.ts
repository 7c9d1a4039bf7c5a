/**
 * What the watch says of agents that live: scripted ones, and the real Claude Code against a model that falls silent or refuses. Processes,
 * logs and looks are real; only the waiting is not: the watch is asked what it would say minutes later if nothing happened until then.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSummary, RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { type CliOptions, type CliTrial, startCli, WORKS } from "../support/cli/cli-trial.ts";
import { isInstalled } from "../support/cli/real-clis.ts";
import { speaker } from "../support/cli/speaker.ts";
import { lab } from "../support/lab.ts";
import type { Fault } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { text, until } from "../support/workspace.ts";

const TIMEOUT_MS = patient(90_000);
/** CPU time is counted in steps of 10 ms: so far apart, two looks tell an idle process from a busy one. */
const APART_MS = 1500;

const INIT = { type: "system", subtype: "init", session_id: "s", model: "scripted" };
const ASKS = { type: "control_request", request_id: "1", request: { subtype: "can_use_tool", tool_name: "Bash" } };

/** A watcher, and what it says of an agent so many seconds from now. */
function ahead(workspace: Workspace) {
  const watcher = workspace.verdicts.rounds();
  return {
    watcher,
    async at(seconds: number): Promise<(run: RunRecord) => AgentSummary> {
      const { summaries } = await watcher.round({ nowMs: Date.now() + seconds * 1000 });
      return ({ agent }) => summaries.find(({ instance_id }) => instance_id === agent) as AgentSummary;
    },
  };
}

it(
  "R-001.25: scripted agents: hung, mute and asking ones are blocked by 240 s; busy and talking ones are not",
  async () => {
    const made = lab();
    const start = (name: string, lines: readonly object[], then: string): Promise<RunRecord> =>
      made
        .open({ env: speaker(join(made.folder, name), lines, then) })
        .runs.start({ driver: "claude", prompt: "Mend the parser" });
    const [hung, mute, asking, busy, talking] = await Promise.all([
      start("hung", [INIT], "exec sleep 60"),
      start("mute", [], "exec sleep 60"),
      start("asking", [INIT, ASKS], "exec sleep 60"),
      start("busy", [INIT], "while :; do :; done"),
      start("talking", [INIT], `while :; do echo '{"type":"system","subtype":"status"}'; sleep 0.1; done`),
    ] as const);
    await until(() => [hung, asking, busy, talking].every(({ log }) => text(log).includes("\n")));
    const { watcher, at } = ahead(made.workspace);
    const early = await at(100);
    for (const run of [hung, mute, asking, busy, talking].filter((one) => one !== asking))
      expect(early(run).level).not.toBe("alert");
    // Between two looks at all, those that print are looked at alone: that must not make the watch forget the silent ones.
    await watcher.round({ only: new Set([talking.agent]) });
    await sleep(APART_MS);
    await watcher.round({ only: new Set([talking.agent]) });
    for (const run of [hung, busy, talking]) expect((await at(138))(run).on_track_status).not.toBe("blocked");
    const late = await at(240);
    expect(late(hung)).toMatchObject({ on_track_status: "blocked", cause: "model_silent", level: "alert" });
    expect(late(mute)).toMatchObject({ on_track_status: "blocked", cause: "no_first_output", level: "alert" });
    expect(late(asking)).toMatchObject({ on_track_status: "blocked", cause: "permission_wait", level: "alert" });
    expect(late(busy).on_track_status).not.toBe("blocked");
    // Two looks in a row say the same.
    expect((await at(240))(hung).on_track_status).toBe("blocked");
    expect((await at(0))(talking).on_track_status).not.toBe("blocked");
  },
  TIMEOUT_MS,
);

describe("Claude Code, the real one", () => {
  const real = it.skipIf(!isInstalled("claude"));
  let api: ModelApi;
  beforeAll(async () => {
    api = await ModelApi.start();
  });
  afterAll(() => api.close());

  const begin = (faults: readonly Fault[], options: CliOptions = {}): Promise<CliTrial> =>
    startCli(lab(), api, "claude", { steps: WORKS, faults }, options);

  real(
    "a model that never answers, one that stops in mid-stream, a permission that nobody gives: blocked by 240 s",
    async () => {
      const env = { API_TIMEOUT_MS: "300000" };
      const cases = await Promise.all([
        begin([{ kind: "silent" }], { env }),
        begin([{ kind: "stall" }], { env }),
        begin([], { asks: true }),
      ]);
      const causes = ["model_silent", "model_silent", "permission_wait"];
      await until(
        () =>
          cases.every(
            ({ scenario, record }) =>
              api.steps(scenario).some(({ fault }) => fault) || text(record.log).includes("can_use_tool"),
          ),
        45_000,
      );
      await Promise.all(
        cases.map(async ({ lab: { workspace }, record }, i) => {
          const { at } = ahead(workspace);
          let told: AgentSummary | undefined;
          // It starts threads and writes files for some moments more, and is no hang until it does nothing.
          await until(async () => {
            const early = (await at(100))(record);
            if (causes[i] === "model_silent") expect(early.on_track_status).not.toBe("blocked");
            await sleep(APART_MS);
            told = (await at(240))(record);
            return told.on_track_status === "blocked";
          });
          expect(told).toMatchObject({ on_track_status: "blocked", cause: causes[i], level: "alert" });
          expect(told?.evidence[0]).toMatchObject({
            rule: causes[i],
            quote: expect.stringMatching(/silent for \d+ s/),
          });
        }),
      );
    },
    TIMEOUT_MS,
  );

  real(
    "401, 429 with its reset and 529 are blocked with the right cause; a run that succeeds never is",
    async () => {
      const limit = "Number of requests has exceeded your rate limit. It resets at 2030-01-01T00:00:00Z.";
      const cases = [
        { cause: "auth", resets_at: null, faults: [{ kind: "status", status: 401, message: "The key is not valid" }] },
        {
          cause: "rate_limit",
          resets_at: "2030-01-01T00:00:00.000Z",
          faults: [{ kind: "status", status: 429, message: limit, headers: { "retry-after": "1" } }],
        },
        { cause: "overloaded", resets_at: null, faults: [{ kind: "status", status: 529, message: "Overloaded" }] },
        { cause: null, resets_at: null, faults: [] },
      ] as const;
      await Promise.all(
        cases.map(async ({ cause, resets_at, faults }) => {
          const { lab: at, record } = await begin(faults);
          const watcher = at.workspace.verdicts.rounds();
          const said: AgentSummary[] = [];
          await until(async () => {
            said.push(...(await watcher.round()).summaries);
            return said.at(-1)?.final;
          });
          const verdict = cause === null ? "on_track" : "blocked";
          expect(said.at(-1)).toMatchObject({ instance_id: record.agent, on_track_status: verdict, cause, resets_at });
          if (cause === null) expect(said.filter(({ level }) => level !== "none")).toEqual([]);
        }),
      );
    },
    TIMEOUT_MS,
  );
});

describe("retries that no line of the stream tells", () => {
  let api: ModelApi;
  beforeAll(async () => {
    api = await ModelApi.start();
  });
  afterAll(() => api.close());
  const fails: readonly Fault[] = [{ kind: "status", status: 503, message: "come again" }];

  it.skipIf(!isInstalled("gemini"))(
    "Gemini CLI: they are read from its stderr",
    async () => {
      const at = lab();
      const { record } = await startCli(at, api, "gemini", { steps: WORKS, faults: fails });
      const retried = async () => (await at.raw(record.agent, { stderr: true })).includes("Attempt 2 failed");
      await until(retried, 60_000, "its second try");
      const told = (await ahead(at.workspace).at(0))(record);
      expect(told).toMatchObject({ on_track_status: "unknown", level: "watch" });
      expect(told.evidence).toMatchObject([
        { rule: "trouble", value: 2, quote: expect.stringContaining("Attempt 2 failed with status 503") },
      ]);
    },
    TIMEOUT_MS,
  );

  it.skipIf(!isInstalled("opencode"))(
    "OpenCode tells them nowhere: its silence is the evidence, long before it counts as a hang",
    async () => {
      const at = lab();
      const { record, scenario } = await startCli(at, api, "opencode", { steps: WORKS, faults: fails });
      await until(() => api.steps(scenario).some(({ fault }) => fault), 60_000, "its first try");
      const told = (await ahead(at.workspace).at(40))(record);
      expect(told).toMatchObject({ on_track_status: "unknown", level: "watch" });
      expect(told.evidence[0]?.quote).toMatch(/^(waits for its model, )?silent for \d+ s/);
    },
    TIMEOUT_MS,
  );
});
