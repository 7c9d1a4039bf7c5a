import {
  appendFileSync,
  existsSync,
  globSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ConfigInput, loadConfig } from "../../src/core/config/config.ts";
import type { ListRecord } from "../../src/core/types.ts";
import { Verdicts } from "../../src/fleet/verdicts.ts";
import type { JournalEvent } from "../../src/fleet/workspace.ts";
import type { AgentSummary, LogPosition, Verdict } from "../../src/index.ts";
import { speaker } from "../support/cli/speaker.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";

const SIXTEEN = [
  "instance_id",
  "instance_name",
  "timestamp",
  "current_activity",
  "on_track_status",
  "confidence_score",
  "assigned_task",
  "parent_instance_id",
  "role",
  "last_tool_used",
  "recent_tools",
  "output_preview",
  "idle_duration_seconds",
  "drift_reasons",
  "alignment_keywords",
  "recommended_action",
];

function lab(config: ConfigInput = {}): Lab {
  const made = new Lab(config);
  onTestFinished(() => made.end());
  return made;
}

const init = { type: "system", subtype: "init", session_id: "s", model: "claude-sonnet-4-5" };
const step = (n: number, answer: string): object[] => [
  {
    type: "assistant",
    request_id: `r${n}`,
    message: {
      id: `m${n}`,
      usage: { input_tokens: 100, output_tokens: 10 },
      content: [{ type: "tool_use", id: `t${n}`, name: "Bash", input: { command: "npm test parser" } }],
    },
  },
  {
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: `t${n}`, is_error: true, content: answer }] },
  },
];
const SECRET = `sk-ant-api03-${"Zx9".repeat(30)}`;
const LOOP = [init, ...Array.from({ length: 8 }, (_, n) => step(n, "Error: parser not found")).flat()];

async function verdicts(made: Lab): Promise<JournalEvent[]> {
  const found: JournalEvent[] = [];
  for await (const { event } of made.workspace.journal.events({ type: "verdict.changed" })) found.push(event);
  return found;
}

it("R-001.1, R-001.3, R-001.21, R-001.23, R-001.29: a looping agent is blocked, with the lines that show it, on disk and in the journal", async () => {
  const made = lab();
  const workspace = made.open({ env: speaker(made.folder, [...LOOP, { type: "text", note: SECRET }]) });
  const task = workspace.runs.makeTask("Fix the parser so that npm test passes again");
  const parent = await workspace.runs.start({ argv: ["sleep", "60"], task: task.task });
  const run = await workspace.runs.start({
    driver: "claude",
    task: task.task,
    role: "fixer",
    parent: parent.agent,
    prompt: `Mend it with ${SECRET}`,
  });
  const watcher = workspace.verdicts.rounds();
  await until(async () => (await watcher.round()).summaries[0]?.on_track_status === "blocked");
  const folder = join(made.root, task.task, "summaries", run.agent);
  const summary = JSON.parse(readFileSync(join(folder, "latest_summary.json"), "utf8")) as AgentSummary;
  expect(Object.keys(summary).slice(0, 16)).toEqual(SIXTEEN);
  expect(summary).toMatchObject({
    instance_id: run.agent,
    on_track_status: "blocked",
    role: "fixer",
    parent_instance_id: parent.agent,
    last_tool_used: "Bash",
    schema_version: 1,
    tokens: { input: 800, output: 80 },
    cost_estimated: true,
  });
  expect(summary.alignment_keywords).toContain("parser");
  // The evidence can be opened: its bytes are whole lines of the log.
  const [first] = summary.evidence;
  const place = first?.log as NonNullable<AgentSummary["evidence"][number]["log"]>;
  const bytes = readFileSync(run.log).subarray(place.byte_start, place.byte_end).toString();
  expect(bytes.split("\n")).toHaveLength(place.line_end - place.line_start + 2);
  expect(bytes).toContain("npm test parser");
  expect(readFileSync(join(folder, "latest_summary.json"), "utf8")).not.toContain(SECRET);
  expect(statSync(join(folder, "latest_summary.json")).mode & 0o777).toBe(0o600);

  // Told once, however often it is looked at and by whom.
  await watcher.round();
  await made.open().verdicts.rounds().round();
  const [event, ...more] = await verdicts(made);
  expect(more).toEqual([]);
  expect(event).toMatchObject({ id: summary.id, agent: run.agent, data: { run: 1, verdict: "blocked" } });
  expect(readFileSync(join(folder, "summary_history.jsonl"), "utf8").trim().split("\n").length).toBeLessThanOrEqual(2);
  expect((await workspace.runs.list())[0]?.verdict).toBe("blocked");

  // The registry is an index of it.
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(made.root, `midwatch.db${suffix}`), { force: true });
  using later = made.open();
  expect((await later.runs.show(run.agent)).verdict).toBe("blocked");
});

it("R-001.1: an agent that goes over to something else is drifting and, where a person lets words ring, off track", async () => {
  const made = lab();
  writeFileSync(join(made.folder, "midwatch.config.json"), JSON.stringify({ rules: { off_task: { alert: 6 } } }));
  const other =
    "grep flux colnames in BinnedTimeSeries; the lightcurve periodogram of TESS folds photometry by barycentric epoch, aperture, dilution, detrending and centroid";
  const task =
    "Rename the swappable dependency of ProjectState in the autodetector of migrations for a ForeignKey constraint";
  const turn = (words: string, id: string): object[] => [
    {
      type: "assistant",
      message: {
        id: `m${id}`,
        content: [{ type: "tool_use", id: `t${id}`, name: "Bash", input: { command: `${words} ${id}` } }],
      },
    },
    { type: "user", message: { content: [{ type: "tool_result", tool_use_id: `t${id}`, content: `line ${id}` }] } },
  ];
  const near = [..."abcdefghijklm"].flatMap((letter) => turn(task, `n${letter}`));
  const away = [..."abcdefghijklmn"].flatMap((letter) => turn(other, `o${letter}`));
  const go = join(made.folder, "go");
  const rest = away.slice(16).map((line) => `printf '%s\\n' '${JSON.stringify(line)}'`);
  const then = [`until [ -e '${go}' ]; do sleep 0.02; done`, ...rest, "sleep 60"].join("\n");
  const workspace = made.open({ env: speaker(made.folder, [init, ...near, ...away.slice(0, 16)], then) });
  const run = await workspace.runs.start({ driver: "claude", prompt: task });
  const watcher = workspace.verdicts.rounds();
  const status = async (): Promise<Verdict | undefined> => (await watcher.round()).summaries[0]?.on_track_status;
  await until(async () => (await status()) === "drifting");
  writeFileSync(go, "");
  await until(async () => (await status()) === "off_track");
  const said = (await verdicts(made)).map(({ data }) => (data as { verdict: Verdict }).verdict);
  expect(said.slice(said.indexOf("drifting"))).toEqual(["drifting", "off_track"]);
  expect((await made.workspace.runs.show(run.agent)).verdict).toBe("off_track");
});

it("R-001.6: three watchers in processes of their own beside a fourth: each line counts once, each change is told once", async () => {
  const made = lab();
  const env = speaker(
    made.folder,
    [],
    [...LOOP, ...LOOP].map((line) => `printf '%s\\n' '${JSON.stringify(line)}'; sleep 0.1`).join("\n"),
  );
  const workspace = made.open({ env });
  const run = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
  const watcher = async (): Promise<void> => {
    for (let n = 0; n < 4; n++) expect((await made.cli("watch", "--once")).code).toBe(0);
  };
  await Promise.all([watcher(), watcher(), watcher(), workspace.runs.wait([run.agent])]);
  const [summary] = (await workspace.verdicts.rounds().round()).summaries;
  expect(summary).toMatchObject({ final: true, tools: 16, position: { line: 34, missed_bytes: 0 } });
  const ids = (await verdicts(made)).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

it("R-001.25: what cannot be read of one agent does not touch the others", async () => {
  const made = lab();
  const bad = await made.sh("echo one; sleep 60");
  const good = await made.sh("echo two; sleep 60");
  const intent = join(made.runDir(bad), "intent.json");
  const fact = JSON.parse(readFileSync(intent, "utf8")) as object;
  // In one step: its keeper makes a missing one again.
  writeFileSync(`${intent}.new`, JSON.stringify({ ...fact, driver: "gone" }));
  renameSync(`${intent}.new`, intent);
  const { summaries, failed } = await made.workspace.verdicts.rounds().round();
  expect(failed.map(({ agent }) => agent)).toEqual([bad.agent]);
  expect(summaries.map(({ instance_id }) => instance_id)).toEqual([good.agent]);
});

it("R-001.28: an agent's place is dropped when it has ended and was read, and with it when it is pruned", async () => {
  const made = lab();
  const go = join(made.folder, "go");
  const one = await made.sh(`echo a; echo b; until [ -e "${go}" ]; do sleep 0.02; done; printf c`);
  const watcher = made.workspace.verdicts.rounds();
  await until(
    async () => (await watcher.round()).summaries.length > 0 && made.workspace.verdicts.positions.all().length > 0,
  );
  appendFileSync(go, "");
  await made.workspace.runs.wait([one.agent]);
  await watcher.round();
  expect(made.workspace.verdicts.positions.all()).toEqual([]);
  const [summary] = made.workspace.verdicts.positions.summaries();
  expect(summary).toMatchObject({ final: true, position: { line: 3, offset: 5 } });
  await made.workspace.files.prune({ olderMs: 0 });
  expect(made.workspace.verdicts.positions.summaries()).toEqual([]);
  expect(existsSync(join(made.root, one.task, "summaries"))).toBe(false);
});

it("R-001.2, R-001.8, R-001.15: places can be read, updated, removed, listed, reset and cleared", () => {
  const made = lab();
  const path = join(made.folder, "app.log");
  appendFileSync(path, "one\ntwo\n");
  const { positions } = made.workspace.verdicts;
  const batch = made.workspace.verdicts.readFile("reader-1", path);
  expect(batch.lines).toEqual(["one", "two"]);
  batch.commit();
  const [row]: LogPosition[] = positions.all();
  expect(row).toMatchObject({ agent: "reader-1", log: path, offset: 8, line: 2 });
  expect(Object.keys(row ?? {})).toEqual(expect.arrayContaining(["checksum", "updated_at", "generation", "file"]));
  expect(made.open().verdicts.readFile("reader-1", path).lines).toEqual([]);
  positions.reset(batch.cursor.agent, path);
  expect(positions.get(batch.cursor.agent, path)).toBeUndefined();
  expect(made.workspace.verdicts.readFile("reader-1", path).lines).toEqual(["one", "two"]);
  positions.update([batch.cursor, { ...batch.cursor, log: `${path}.2` }]);
  positions.remove(batch.cursor.agent, path);
  expect(positions.all()).toHaveLength(1);
  positions.clear();
  expect(positions.all()).toEqual([]);
});

it("R-000.23: a live log is validated as it is read: lines that are no JSON are counted, and told once", async () => {
  const made = lab();
  const broken = `printf '{"type":\\n'; until [ -e go ]; do sleep 0.02; done; echo no JSON; printf 'torn'; exec sleep 60`;
  const workspace = made.open({ env: speaker(made.folder, [init], broken) });
  const { agent } = await workspace.runs.start({ driver: "claude", prompt: "parser", cwd: made.folder });
  const count = async (by: Verdicts): Promise<number | undefined> =>
    (await by.rounds().round()).summaries.find((one) => one.instance_id === agent)?.bad_lines;
  await until(async () => (await count(workspace.verdicts)) === 1);
  writeFileSync(join(made.folder, "go"), "");
  for (const by of [workspace, made.open()]) await until(async () => (await count(by.verdicts)) === 2);
  await workspace.runs.stop([agent], { graceMs: 0 });
  await made.open().verdicts.rounds().round();
  const told: JournalEvent[] = [];
  for await (const { event } of workspace.journal.events({ type: "agent.bad_line" })) told.push(event);
  expect(told).toMatchObject([
    { agent, data: { run: 1, line_number: 2, severity: "warning", error: expect.any(String) } },
  ]);
});

it("R-001.10: without its database the watch begins anew and comes to the same", async () => {
  const made = lab();
  const workspace = made.open({ env: speaker(made.folder, LOOP) });
  await workspace.runs.start({ driver: "claude", prompt: "parser" });
  await until(async () => (await workspace.verdicts.rounds().round()).summaries[0]?.on_track_status === "blocked");
  const [before] = workspace.verdicts.positions.all();
  rmSync(join(made.root, "midwatch.db"));
  await made.open().verdicts.rounds().round();
  const [after] = made.open().verdicts.positions.all();
  expect({ ...after, updated_at: "" }).toEqual({ ...before, updated_at: "" });
  expect(await verdicts(made)).toHaveLength(1);
});

it("R-001.9: a watcher knows where it is: it reads no line again when the places are gone", async () => {
  const made = lab();
  await made.sh("echo a; echo b; sleep 60");
  const watcher = made.workspace.verdicts.rounds();
  await until(async () => (await watcher.round()).summaries[0]?.position.line === 2);
  made.workspace.verdicts.positions.clear();
  expect((await watcher.round()).lines).toBe(0);
});

it.each([
  ["stop", "stopped"],
  ["interrupt", "failed"],
] as const)("a task that asks for %s gets it when its agent is blocked for sure", async (policy, outcome) => {
  const made = lab();
  const workspace = made.open({ env: speaker(made.folder, LOOP, "exec sleep 60") });
  const task = workspace.runs.makeTask("Fix the parser", { on_verdict: policy });
  const run = await workspace.runs.start({ driver: "claude", task: task.task, prompt: "Mend it" });
  const watcher = workspace.verdicts.rounds();
  await until(async () => {
    await watcher.round();
    return (await workspace.runs.show(run.agent)).outcome !== null;
  });
  expect((await workspace.runs.show(run.agent)).outcome).toBe(outcome);
});

it("thresholds of midwatch.config.json decide, and a wrong name is refused at the door", async () => {
  const made = lab();
  const file = join(made.folder, "midwatch.config.json");
  writeFileSync(file, JSON.stringify({ rules: { same_error: { watch: 1, alert: 2 } } }));
  const workspace = made.open({ env: speaker(made.folder, LOOP.slice(0, 5)) });
  await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
  await until(async () => (await workspace.verdicts.rounds().round()).summaries[0]?.cause === "same_error");
  writeFileSync(file, JSON.stringify({ rules: { same_eror: { alert: 2 } } }));
  const { code, stderr } = await made.cli("ls");
  expect([code, stderr]).toEqual([2, expect.stringContaining("Did you mean same_error?")]);
  rmSync(file);
});

it("R-001.30: by default the watch only tells", async () => {
  const made = lab();
  const workspace = made.open({ env: speaker(made.folder, LOOP) });
  const run = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
  await until(async () => (await workspace.verdicts.rounds().round()).summaries[0]?.on_track_status === "blocked");
  expect((await workspace.runs.show(run.agent)).phase).toBe("running");
});

it("the commands watch --once, summary, cost and ls say it", async () => {
  const made = lab();
  const workspace = made.open({ env: speaker(made.folder, LOOP) });
  const { agent, log } = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
  await until(() => readFileSync(log, "utf8").split("\n").length > LOOP.length);
  const once = await made.cli("watch", "--once", "--json");
  expect(JSON.parse(once.stdout)).toMatchObject({ instance_id: agent, on_track_status: "blocked" });
  const text = (await made.cli("summary", agent)).stdout;
  expect(text).toMatch(/verdict +blocked/);
  expect(text).toContain("npm test parser");
  expect(text).toMatch(/midwatch logs \S+ --run 1 --offset \d+ --limit \d+/);
  const all = (await made.cli("cost", "--by", "model", "--json")).stdout.trim().split("\n");
  expect(all.map((line) => JSON.parse(line) as object)).toMatchObject([
    { of: "claude-sonnet-4-5", runs: 1, tokens: { input: 800, output: 80 } },
    { of: "all", runs: 1 },
  ]);
  const [listed] = (await made.cli("ls", "--json")).stdout.trim().split("\n");
  expect((JSON.parse(listed ?? "") as ListRecord).verdict).toBe("blocked");
  expect((await made.cli("summary", "--all", agent)).code).toBe(2);
});

it("R-001.14: the last lines can be read, whatever was read before", async () => {
  const made = lab();
  const { agent } = await made.sh("seq 1 50");
  await made.workspace.runs.wait([agent]);
  await made.workspace.verdicts.rounds().round();
  const last: unknown[] = [];
  for await (const { data } of made.workspace.logs.records(agent, { lines: 3 })) last.push(data);
  expect(last).toEqual([48, 49, 50]);
});

it("R-001.4: the defaults are in the list of the configuration", () => {
  const { watch_poll, watch_lines, watch_backoff, watch_streaming, llm_model } = loadConfig();
  expect([watch_poll, watch_lines, watch_backoff, watch_streaming]).toEqual([12_000, 200, 10_000, "on"]);
  expect(llm_model).toBe("claude-haiku-4-5");
  const page = readFileSync(supportFile("../../docs/config.md"), "utf8");
  for (const row of [
    /`watch_poll`.*`12s`/,
    /`watch_lines`.*`200`/,
    /`watch_backoff`.*`10s`/,
    /`watch_streaming`.*`on`/,
  ])
    expect(page).toMatch(row);
});

it("R-001.4, R-001.13: another number of lines a read is kept to", () => {
  const at = lab({ watch_lines: 7 });
  const path = join(at.folder, "any.log");
  writeFileSync(path, "line\n".repeat(20));
  const read = (): string[] => {
    const batch = at.workspace.verdicts.readFile("reader", path);
    batch.commit();
    return batch.lines;
  };
  expect([read(), read(), read(), read()].map(({ length }) => length)).toEqual([7, 7, 6, 0]);
});

it("R-001.18, R-001.27: a small interface, and nothing from outside below it", () => {
  for (const name of ["follow", "rounds", "of", "all", "readFile", "cost"] as const)
    expect(Verdicts.prototype[name]).toBeTypeOf("function");
  const folder = supportFile("../../src/judge");
  const imports = globSync("*.ts", { cwd: folder })
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(/ from "([^"]+)"/g)].map(([, name]) => name),
    );
  expect(imports.filter((name) => !/^(node:|\.)/.test(name ?? ""))).toEqual([]);
});

it("sees an agent that begins while it watches, without waiting for its next look at everybody", async () => {
  const at = lab({ watch_poll: "1h" });
  const ending = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { instance_id: agent } of at.open().verdicts.follow(ending.signal)) seen.push(agent);
  })();
  const first = await at.sh("echo one; exec sleep 60");
  await until(() => seen.includes(first.agent), 20_000);
  const second = await at.sh("exec sleep 60");
  await until(() => seen.includes(second.agent), 20_000);
  ending.abort();
  await watching;
});
