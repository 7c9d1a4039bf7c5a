/** What the installed Claude Code says of a finding, asked for real: its model is the scripted one on loopback. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { AgentSummary, RunRecord } from "../../src/fleet/workspace.ts";
import { cliCommand, isInstalled } from "../support/cli/real-clis.ts";
import { lab } from "../support/lab.ts";
import { GOOD } from "../support/model/llm-server.ts";
import type { Scenario } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { type Asking, askingBy, init, placeSpeaker, says, stateOf, step } from "../support/model/opinions.ts";
import { patient } from "../support/patience.ts";
import { type Lab, until } from "../support/workspace.ts";

const TIMEOUT_MS = patient(120_000);
/** The same look again and again: three are worth a look, four are told. */
const looks = (count: number, from = 0): object[] =>
  Array.from({ length: count }, (_, n) => step(from + n, "the parser is as it was", true, "cat parser.txt")).flat();
const said = (finding: string, quote = "the parser is as it was"): string =>
  JSON.stringify({ ...GOOD, finding, reasons: [{ text: "It looks at the same thing.", quote }] });

async function rounds(watch: Asking, count: number): Promise<AgentSummary[]> {
  let last: AgentSummary[] = [];
  for (let n = 0; n < count; n++) last = await watch.round();
  return last;
}

describe.skipIf(!isInstalled("claude"))("Claude Code as a second voice", () => {
  let api: ModelApi;
  beforeAll(async () => {
    api = await ModelApi.start();
  });
  afterAll(() => api.close());

  interface Scene {
    made: Lab;
    watch: Asking;
    more: (...lines: object[]) => void;
    requests: () => typeof api.requests;
    run: RunRecord;
    home: string;
  }

  async function scene(name: string, scenario: Partial<Scenario>, lines: readonly object[], more = {}): Promise<Scene> {
    const made = lab();
    const home = join(made.folder, `home-${name}`);
    mkdirSync(home);
    const url = api.play(name, { steps: [], ...scenario });
    const placed = placeSpeaker(made, [init, ...lines]);
    const task = made.workspace.runs.makeTask("Fix the parser", { on_verdict: name === "raises" ? "stop" : "notify" });
    const run = await made
      .open({ env: placed.env })
      .runs.start({ driver: "claude", task: task.task, prompt: "Fix the parser" });
    await until(() => readFileSync(run.log, "utf8").split("\n").length > lines.length + 1);
    const watch = askingBy(made, { opinion: "claude", ...more }, cliCommand("claude", { home, url }).env);
    return {
      made,
      watch,
      more: (...printed) => printed.forEach(placed.more),
      requests: () => api.requests.filter(({ scenario: of }) => of === name),
      run,
      home,
    };
  }

  it(
    "moves what is worth a look to an alert, and is asked once, in an empty folder, without tools",
    async () => {
      const scratch = new Set(readdirSync(tmpdir()));
      const { watch, requests, more, run, made, home } = await scene("raises", { aside: said("trouble") }, looks(3));
      using _ = watch;
      const before = await watch.until(({ finding }) => finding?.rule === "repeat");
      expect(before).toMatchObject({ on_track_status: "on_track", level: "watch", verdict_source: "rule" });
      const after = await watch.until(({ verdict_source }) => verdict_source === "rule+model");
      expect(after).toMatchObject({ on_track_status: "blocked", level: "alert", cause: "repeat" });
      expect(after.finding).toEqual(before.finding);
      expect(after.id).not.toBe(before.id);
      const [request] = requests();
      const body = JSON.parse(request?.body ?? "{}");
      expect(body).toMatchObject({ model: "claude-haiku-4-5", tools: [] });
      expect(request?.body).toContain("Finding: repeat: 3");
      expect(request?.body).toContain("the parser is as it was");
      // It goes on, and the trouble is the same one.
      more(...looks(3, 20));
      await watch.until(({ evidence }) => evidence.some(({ rule, value }) => rule === "repeat" && value >= 6));
      await rounds(watch, 3);
      expect(requests()).toHaveLength(1);
      // Its task says that it is stopped when the watch is sure; on a model's word it is not.
      expect((await made.workspace.runs.show(run.agent)).outcome).toBeNull();
      expect(stateOf(made, run)).toMatchObject({ ruling: { says: "trouble" }, day: { calls: 1 } });
      const kept = readdirSync(home, { recursive: true }).map(String);
      expect(kept.filter((path) => /projects|\.jsonl$/.test(path))).toEqual([]);
      expect(readdirSync(tmpdir()).filter((entry) => /^midwatch-\w{6}$/.test(entry) && !scratch.has(entry))).toEqual(
        [],
      );
    },
    TIMEOUT_MS,
  );

  it(
    "moves an alert to a look, hides nothing, and moves no fact",
    async () => {
      const { watch, more } = await scene("lowers", { aside: said("no_trouble") }, looks(5));
      using _ = watch;
      const before = await watch.until(({ level }) => level === "alert");
      expect(before).toMatchObject({ on_track_status: "blocked", verdict_source: "rule" });
      const after = await watch.until(({ verdict_source }) => verdict_source === "rule+model");
      expect(after).toMatchObject({ on_track_status: "on_track", level: "watch" });
      const rules = ({ evidence }: AgentSummary): string[] =>
        evidence
          .filter(({ source }) => source === "rules")
          .map(({ rule }) => rule)
          .sort();
      expect(rules(after)).toEqual(rules(before));
      more({ type: "assistant", error: "billing_error", message: { content: [{ type: "text", text: "no credit" }] } });
      const fact = await watch.until(({ verdict_source }) => verdict_source === "fact");
      expect(fact).toMatchObject({ on_track_status: "blocked", level: "alert" });
    },
    TIMEOUT_MS,
  );

  it.each<[string, Partial<Scenario>, object]>([
    ["lies about the lines", { aside: said("trouble", "all disks have been wiped") }, {}],
    ["answers something else", { aside: "I would rather talk about the weather." }, {}],
    ["is slow", { aside: said("trouble"), faults: [{ kind: "silent" }] }, { llm: { timeout: `${patient(3000)}ms` } }],
    ["is refused", { aside: said("trouble"), faults: [{ kind: "status", status: 401 }] }, {}],
  ])(
    "a reader that %s changes nothing, and is not asked again",
    async (name, scenario, more) => {
      const {
        watch,
        requests,
        made,
        run,
        more: add,
      } = await scene(name.replaceAll(" ", "-"), scenario, looks(3), more);
      using _ = watch;
      const before = await watch.until(({ finding }) => finding?.rule === "repeat");
      await until(async () => {
        await watch.round();
        const state = stateOf(made, run);
        return state?.finding != null && state.claim === null;
      });
      const asked = requests().length;
      add(says("Once more."));
      const [after] = await rounds(watch, 4);
      for (const key of ["on_track_status", "level", "cause", "id", "verdict_source", "confidence_score"] as const)
        expect(after?.[key]).toEqual(before[key]);
      expect(stateOf(made, run)?.ruling).toBeNull();
      expect(requests()).toHaveLength(asked);
    },
    TIMEOUT_MS,
  );

  it(
    "a reader that is killed changes nothing",
    async () => {
      const made = lab();
      const bin = join(made.folder, "reader");
      mkdirSync(bin);
      writeFileSync(join(bin, "claude"), '#!/bin/sh\n[ "$1" = --version ] && echo 2 && exit\nkill -9 $$\n', {
        mode: 0o755,
      });
      const placed = placeSpeaker(made, [init, ...looks(3)]);
      const run = await made.open({ env: placed.env }).runs.start({ driver: "claude", prompt: "Fix the parser" });
      await until(() => readFileSync(run.log, "utf8").split("\n").length > 7);
      using watch = askingBy(made, { opinion: "claude" }, { PATH: `${bin}:${process.env["PATH"]}` });
      await watch.until(({ finding }) => finding?.rule === "repeat");
      await until(() => watch.told.length > 0);
      expect(watch.told[0]).toContain("SIGKILL");
      const [after] = await rounds(watch, 3);
      expect(after).toMatchObject({ on_track_status: "on_track", level: "watch", verdict_source: "rule" });
    },
    TIMEOUT_MS,
  );
});

describe.skipIf(!isInstalled("codex"))("Codex as a second voice", () => {
  it(
    "is asked once too, and cannot reach a shell",
    async () => {
      const api = await ModelApi.start();
      onTestFinished(() => api.close());
      const made = lab();
      const home = join(made.folder, "home");
      mkdirSync(home);
      const url = api.play("codex", { steps: [{ say: said("trouble") }] });
      const placed = placeSpeaker(made, [init, ...looks(3)]);
      const run = await made.open({ env: placed.env }).runs.start({ driver: "claude", prompt: "Fix the parser" });
      await until(() => readFileSync(run.log, "utf8").split("\n").length > 7);
      using watch = askingBy(
        made,
        { opinion: "codex", llm: { timeout: `${patient(30_000)}ms` } },
        cliCommand("codex", { home, url }).env,
      );
      const after = await watch.until(({ verdict_source }) => verdict_source === "rule+model");
      expect(after).toMatchObject({ on_track_status: "blocked", level: "alert", cause: "repeat" });
      await rounds(watch, 3);
      const asked = api.requests.filter(({ step: of }) => of !== null);
      expect(asked).toHaveLength(1);
      const tools = JSON.parse(asked[0]?.body ?? "{}").tools as { name?: string }[];
      expect(tools.map(({ name }) => name)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/shell|exec|patch/)]),
      );
      expect(readdirSync(home, { recursive: true }).filter((path) => /rollout/.test(String(path)))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
