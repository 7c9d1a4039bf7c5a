import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedLog } from "../../src/journal/embedded.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { midwatch } from "../support/cli.ts";
import { fileOf, gather, readJournal, snapshotOf } from "../support/data/journal.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { until } from "../support/run.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI } from "../support/workspace.ts";

const root = (place: string): string => join(place, ".agent-workspace");
const event = (interaction: number, content: string, type = "note") =>
  makeEvent({ interaction, actor: "Agent A", type, content });

/** An embedded log in a workspace of its own. */
function journal(): { place: string; log: EmbeddedLog; file: string } {
  const place = folder();
  mkdirSync(root(place));
  return { place: root(place), log: new EmbeddedLog(layout(root(place)).events), file: layout(root(place)).events };
}

async function cli(place: string, ...argv: string[]): Promise<Awaited<ReturnType<typeof midwatch>>> {
  return midwatch(place, argv, {});
}

describe("the log of events", () => {
  it("R-003.3, R-003.9: what was appended is read in order, by several, from any cursor", async () => {
    const { log } = journal();
    const events = Array.from({ length: 50 }, (_, i) => event(i, `text ${i}`));
    await Promise.all(events.map((one) => log.append([one])));
    const read = await gather(log.read());
    expect(read.map((item) => "event" in item && item.event)).toEqual(events);
    const rest = await gather(log.read({ after: read[19]?.next }));
    expect(rest).toEqual(read.slice(20));
    await log.close();
  });

  it("R-003.4: a line that its writer left torn hides no other, not even one that was written onto it", async () => {
    const { log, file, place } = journal();
    await log.append([event(1, "first")]);
    appendFileSync(file, '{"v":1,"id":"x","interaction":1,"act');
    await log.append([event(1, "second")]);
    appendFileSync(file, '{"v":1,"id":"torn","content":"ab');
    appendFileSync(file, `${JSON.stringify(event(1, "glued"))}\n`);
    appendFileSync(file, "pending");
    const { stored, bad } = await readJournal(place);
    expect(stored.map((item) => item.event.content)).toEqual(["first", "second", "glued"]);
    expect(bad.map(({ line, reason }) => ({ line, reason }))).toEqual([
      { line: 2, reason: "not JSON" },
      { line: 4, reason: "torn" },
    ]);
    await log.close();
  });

  it("R-003.17: a shell that was killed in mid-line costs one record and one `error` event, also where it was told before its next piece came", async () => {
    const { file, place, log } = journal();
    const old = { timestamp: "2026-11-15T19:00:00Z" };
    const bytes = JSON.stringify({ interaction: 1, actor: "A", type: "note", content: "x".repeat(500), ...old });
    appendFileSync(file, `${bytes.slice(0, 300)}\n${JSON.stringify(makeEvent({ ...event(2, "behind"), ...old }))}\n`);
    for (let i = 0; i < 3; i++) expect(await snapshotOf(place)).toMatchObject({ bad_lines: 1 });
    expect(await snapshotOf(place, { rebuild: true })).toMatchObject({ bad_lines: 1, events: 2 });
    // It was only very slow.
    appendFileSync(file, `${bytes.slice(300)}\n`);
    expect(await snapshotOf(place)).toMatchObject({ events: 3 });
    expect(await snapshotOf(place, { rebuild: true })).toMatchObject({ bad_lines: 0, events: 3 });
    expect(fileOf(place, "events.error.log").trim().split("\n")).toHaveLength(1);
    expect(fileOf(place, "events.log").match(/is not an event/g)).toHaveLength(1);
    await log.close();
  });

  it("R-003.9: a shell that is at work in mid-line is not told, and what it wrote before somebody else's line is not lost", async () => {
    const { file, place, log } = journal();
    const bytes = JSON.stringify({
      interaction: 1,
      actor: "A",
      type: "note",
      content: "ä".repeat(500),
      timestamp: "2026-11-15T19:00:00Z",
    });
    const parts = [bytes.slice(0, 200), bytes.slice(200, 300), bytes.slice(300)];
    appendFileSync(file, parts[0] as string);
    await log.append([event(2, "behind a newline of ours")]);
    expect(await snapshotOf(place)).toMatchObject({ events: 1, bad_lines: 0 });
    appendFileSync(file, `${parts[1]}${JSON.stringify(event(3, "directly behind"))}\n`);
    expect(await snapshotOf(place)).toMatchObject({ events: 2, bad_lines: 0 });
    appendFileSync(file, `${parts[2]}\n`);
    expect(await snapshotOf(place)).toMatchObject({ events: 3, bad_lines: 0 });
    const grown = fileOf(place, "communication.md");
    await snapshotOf(place, { rebuild: true });
    expect(fileOf(place, "communication.md")).toBe(grown);
    expect(grown).toContain(` - ${"ä".repeat(500)}\n`);
    await log.close();
  });

  it("an id is given once, also to a reader that goes on between two copies", async () => {
    const { log } = journal();
    const twice = event(1, "twice");
    await log.append([twice, event(1, "between")]);
    const cursor = (await gather(log.read())).at(-1)?.next;
    await log.append([twice, event(1, "behind")]);
    const contents = async (after?: string): Promise<unknown[]> =>
      (await gather(log.read({ after }))).map((item) => "event" in item && item.event.content);
    expect(await contents()).toEqual(["twice", "between", "behind"]);
    expect(await contents(cursor)).toEqual(["behind"]);
    await log.close();
  });

  it("a follower gets what others append, across a deletion of the file, and ends when told", async () => {
    const { log, file } = journal();
    const end = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const item of log.read({ follow: true, signal: end.signal }))
        if ("event" in item) seen.push(item.event.content);
    })();
    await log.append([event(1, "a"), event(1, "b")]);
    await until(() => seen.length === 2);
    rmSync(file);
    await log.append([event(1, "c")]);
    await until(() => seen.length === 3);
    end.abort();
    await reading;
    expect(seen).toEqual(["a", "b", "c"]);
    await log.close();
  });

  it("a line of 20 MB is bad and costs nothing but itself", async () => {
    const { log, file, place } = journal();
    await log.append([event(1, "first")]);
    appendFileSync(file, `${"x".repeat(20_000_000)}\n`);
    await log.append([event(1, "second")]);
    const { stored, bad } = await readJournal(place);
    expect(stored.map((item) => item.event.content)).toEqual(["first", "second"]);
    expect(bad).toMatchObject([{ line: 2, reason: "longer than 16 MiB", length: 20_000_000 }]);
    await log.close();
  });
});

describe("the walk of the seed", () => {
  it("R-003.2, R-003.3, R-003.5, R-003.7, R-003.9: scripts, five interactions of two agents, both files", async () => {
    const place = folder();
    const scripts = await cli(place, "event", "--init-scripts");
    expect(scripts.code).toBe(0);
    const sh = (script: string, ...args: string[]) =>
      spawnSync(`./scripts/${script}`, args, {
        cwd: place,
        encoding: "utf8",
        timeout: patient(20_000),
        env: { ...process.env, PATH: PATH_WITHOUT_MIDWATCH },
      });
    for (let n = 1; n <= 5; n++) {
      expect(sh("log_event.sh", String(n), "Agent A", "question", `How do I start server ${n}?`).status).toBe(0);
      expect(sh("log_event.sh", String(n), "Agent B", "answer", `npm start ${n}`).status).toBe(0);
      // Each turn is logged, then the snapshot made again.
      const made = spawnSync(process.execPath, [CLI, "snapshot", "--json"], {
        cwd: place,
        encoding: "utf8",
        timeout: patient(20_000),
      });
      expect(JSON.parse(made.stdout)).toMatchObject({
        events: 2 * n,
        recent: Math.min(3, n),
        archived: Math.max(0, n - 3),
      });
    }
    const comm = fileOf(root(place), "communication.md");
    expect(comm).toBe(`# Communication Snapshot
<!-- BEGIN COMMUNICATION -->
${[3, 4, 5].map((n) => `### Interaction #${n}\n#### A → B\n - How do I start server ${n}?\n#### B → A\n - npm start ${n}\n\n`).join("")}<!-- END COMMUNICATION -->
`);
    const archive = fileOf(root(place), "archive.md");
    expect(archive.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME")).toBe(
      [1, 2]
        .map(
          (n) =>
            `## Interaction #${n}\n- [Agent A question TIME]\nHow do I start server ${n}?\n- [Agent B answer TIME]\nnpm start ${n}\n`,
        )
        .join("\n"),
    );
    const missing = spawnSync("/bin/sh", ["scripts/log_event.sh", "1", "A", "note", "x"], {
      cwd: place,
      encoding: "utf8",
      env: { PATH: "/nowhere" },
    });
    expect(missing.status).toBe(5);
    expect(missing.stderr).toContain("jq is needed");
  });

  it("R-003.3: content is data: it is not executed, and quotes, newlines and non-ASCII arrive", async () => {
    const place = folder();
    await cli(place, "event", "--init-scripts");
    const nasty = `"; touch PWNED; $(touch PWNED) \`touch PWNED\` 'ä→'\n\\n <!-- END COMMUNICATION -->`;
    expect(
      spawnSync(join(place, "scripts", "log_event.sh"), ["1", "A'\"$(touch PWNED)", "note", nasty], { cwd: place })
        .status,
    ).toBe(0);
    expect(
      spawnSync(join(place, "scripts", "log_event.sh"), ["1", "A", "note", "-"], { cwd: place, input: "a\0b" }).status,
    ).toBe(0);
    expect(existsSync(join(place, "PWNED"))).toBe(false);
    const { stored, bad } = await readJournal(root(place));
    expect(bad).toEqual([]);
    expect(stored.map((item) => item.event.content)).toEqual([nasty, "a\0b"]);
  });

  it("R-003.13: a lock that another shell holds is tried three times; then the line is written all the same, and an error event", async () => {
    const place = folder();
    await cli(place, "event", "--init-scripts");
    const log = join(root(place), "events.log");
    const script = `exec 9>>"$1"; flock 9; ./scripts/log_event.sh 7 AgentX answer done 9>&-`;
    expect(spawnSync("sh", ["-c", script, "sh", log], { cwd: place, timeout: patient(20_000) }).status).toBe(0);
    const { stored } = await readJournal(root(place));
    expect(stored.map((item) => item.event)).toMatchObject([
      { interaction: 7, actor: "AgentX", type: "answer", content: "done" },
      { interaction: 7, actor: "AgentX", type: "error", content: "Failed to acquire lock on events.log" },
    ]);
  });
});
const PATH_WITHOUT_MIDWATCH = "/usr/local/bin:/usr/bin:/bin";

describe("event, events, snapshot", () => {
  it("R-003.3: event prints the stored event; + is the next interaction", async () => {
    const place = folder();
    const first = await cli(place, "event", "--json", "+", "Agent A", "question", "one");
    const second = await cli(
      place,
      "event",
      "--json",
      "+",
      "Agent B",
      "answer",
      "two",
      "--to",
      "Agent A",
      "--data",
      '{"n":1}',
    );
    const stored = (await readJournal(root(place))).stored.map((item) => item.event);
    expect([first, second].map(({ stdout }) => JSON.parse(stdout))).toEqual(stored);
    expect(stored).toMatchObject([{ interaction: 1 }, { interaction: 2, to: "Agent A", data: { n: 1 } }]);
    await cli(place, "snapshot");
    await cli(place, "event", "+", "Agent A", "note", "behind the snapshot");
    expect(JSON.parse((await cli(place, "event", "--json", "+", "A", "note", "x")).stdout)).toMatchObject({
      interaction: 4,
    });
  });

  it.each([
    [["event", "x", "A", "note", "c"], 2, "USAGE"],
    [["event", "-1", "A", "note", "c"], 2, "USAGE"],
    [["event", "1.5", "A", "note", "c"], 2, "USAGE"],
    [["event", "1", "A", "No Word", "c"], 2, "USAGE"],
    [["event", "1", "A", "note"], 2, "USAGE"],
    [["event", "1", "A", "leader_election", "c"], 4, "REFUSED_TYPE"],
    [["event", "1", "A", "agent.started", "c"], 4, "REFUSED_TYPE"],
    [["event", "1", "A", "verdict.blocked", "c"], 4, "REFUSED_TYPE"],
    [["event", "1", "A", "note", "c", "--data", "{"], 2, "USAGE"],
    [["event", "1", "A", "note", "c", "--agent", "nobody-1"], 3, "NOT_FOUND_AGENT"],
    [["event", "1", "A", "note", "c", "--task", "TASK-20261115-190000-1a2b3c4d"], 3, "NOT_FOUND_TASK"],
  ])("%j is refused with %d and leaves no line", async (argv, code, name) => {
    const place = folder();
    const result = await cli(place, "--json", ...argv);
    expect(result.code).toBe(code);
    expect(JSON.parse(result.stderr).error.code).toBe(name);
    expect(fileOf(root(place), "events.log")).toBe("");
  });

  it("content from the input: NUL and newlines arrive, 10 MB are refused with a clear error", async () => {
    const place = folder();
    const put = (input: string) =>
      spawnSync(process.execPath, [CLI, "event", "1", "A", "note", "-", "--json"], {
        cwd: place,
        input,
        encoding: "utf8",
        timeout: patient(20_000),
      });
    expect(JSON.parse(put("a\0b\nc").stdout)).toMatchObject({ content: "a\0b\nc" });
    const refused = put("x".repeat(10_000_000));
    expect(refused.status).toBe(2);
    expect(JSON.parse(refused.stderr).error).toMatchObject({ code: "TOO_LARGE", retryable: false });
    expect((await readJournal(root(place))).stored).toHaveLength(1);
  });

  it("events filters, counts from the end, and follows", async () => {
    const { place, log } = journal();
    const all = Array.from({ length: 3000 }, (_, i) =>
      makeEvent({
        interaction: i % 7,
        actor: i % 2 ? "A" : "B",
        type: i % 1000 ? "note" : "error",
        content: String(i),
        timestamp: new Date(1e12 + i * 1000).toISOString(),
      }),
    );
    await log.append(all);
    await log.close();
    const contents = async (...argv: string[]): Promise<number[]> =>
      (await cli(place, "events", "--json", ...argv)).stdout
        .split("\n")
        .filter(Boolean)
        .map((line) => Number(JSON.parse(line).content));
    expect(await contents()).toEqual(Array.from({ length: 100 }, (_, i) => 2900 + i));
    expect(await contents("--type", "error")).toEqual([0, 1000, 2000]);
    expect(await contents("--type", "error", "-n", "2")).toEqual([1000, 2000]);
    expect(await contents("--actor", "A", "--interaction", "3", "-n", "2")).toEqual([2985, 2999]);
    expect(await contents("--since", new Date(1e12 + 2_998_000).toISOString())).toEqual([2998, 2999]);
  });

  it("R-003.8, R-003.6: --watch renders again when the journal changes, with the headings of the configuration", async () => {
    const at = lab();
    writeFileSync(
      join(at.folder, "midwatch.config.json"),
      '{"headings":{"question":"{actor} asks {to}"},"snapshot_keep":2}',
    );
    const child = at.node(CLI, "--workspace", at.root, "snapshot", "--watch", "--json");
    await until(() => fileOf(at.root, "communication.md") !== "");
    for (const n of [1, 2, 3])
      await at.workspace.journal.append({
        interaction: n,
        actor: "Agent A",
        type: "question",
        content: `q${n}`,
        to: "B",
      });
    await until(() => fileOf(at.root, "communication.md").includes("q3"));
    expect(fileOf(at.root, "communication.md")).toContain("#### Agent A asks B\n - q2\n");
    expect(fileOf(at.root, "archive.md")).toContain("q1");
    child.kill("SIGINT");
  });

  it("R-003.18: text outside the markers stays; a file that lost its end is made whole with what .bak knows; .bak is the last good one", async () => {
    const { place, log } = journal();
    await log.append([event(1, "one")]);
    writeFileSync(
      join(place, "communication.md"),
      "# Our notes\n\n<!-- BEGIN COMMUNICATION -->\nold\n<!-- END COMMUNICATION -->\nbelow\n",
    );
    await snapshotOf(place);
    const first = fileOf(place, "communication.md");
    expect(first).toMatch(/^# Our notes\n\n<!-- BEGIN [\s\S]* - one\n\n<!-- END COMMUNICATION -->\nbelow\n$/);
    await log.append([event(1, "two")]);
    await snapshotOf(place);
    expect(fileOf(place, "communication.md.bak")).toBe(first);
    writeFileSync(join(place, "communication.md"), "# Our notes\n\n<!-- BEGIN COMMUNICATION -->\n### Inter");
    await snapshotOf(place);
    expect(fileOf(place, "communication.md")).toBe(first.replace(" - one\n", " - one\n#### note\n - two\n"));
    await log.close();
  });

  it("an archive that a person edited is kept aside, and made again", async () => {
    const { place, log } = journal();
    for (let n = 1; n <= 6; n++) await log.append([event(n, `c${n}`)]);
    await snapshotOf(place);
    const good = fileOf(place, "archive.md");
    appendFileSync(join(place, "archive.md"), "my note\n");
    await log.append([event(7, "c7")]);
    await snapshotOf(place);
    expect(fileOf(place, "archive.md.bak")).toBe(`${good}my note\n`);
    expect(fileOf(place, "archive.md").startsWith(good)).toBe(true);
    expect(fileOf(place, "archive.md")).not.toContain("my note");
    writeFileSync(join(place, "archive.md"), "nothing of ours\n");
    await snapshotOf(place);
    expect(fileOf(place, "archive.md.bak")).toBe("nothing of ours\n");
    const made = fileOf(place, "archive.md");
    await snapshotOf(place, { rebuild: true });
    expect(fileOf(place, "archive.md")).toBe(made);
    await log.close();
  });

  it("R-003.9: several that render at once do it one after the other, and it comes to the same", async () => {
    const { place, log } = journal();
    const rounds = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; n < 10; n++) {
        await log.append([event(n, `of ${i}`)]);
        await snapshotOf(place);
      }
    });
    await Promise.all(rounds);
    const files = (): string[] => ["communication.md", "archive.md"].map((name) => fileOf(place, name));
    const made = files();
    expect(await snapshotOf(place, { rebuild: true })).toMatchObject({ events: 80, recent: 3, archived: 7 });
    expect(files()).toEqual(made);
    await log.close();
  });

  it("another journal, another K, a journal that became shorter: everything is made anew", async () => {
    const { place, log, file } = journal();
    for (let n = 1; n <= 6; n++) await log.append([event(n, `c${n}`)]);
    await snapshotOf(place);
    expect(await snapshotOf(place, { keep: 5 })).toMatchObject({ recent: 5, archived: 1, events: 6 });
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.indexOf("\n", bytes.length / 2) + 1));
    const cut = await snapshotOf(place, { keep: 5 });
    expect(cut.events).toBeLessThan(6);
    expect(fileOf(place, "communication.md")).not.toContain("c6");
    rmSync(file);
    for (let n = 1; n <= 9; n++) await log.append([event(n, `other ${n}`)]);
    expect(await snapshotOf(place, { keep: 5 })).toMatchObject({ recent: 5, archived: 4, events: 9 });
    expect(fileOf(place, "archive.md")).not.toContain("c1");
    await log.close();
  });

  it("a link in the place of a view is replaced, never followed", async () => {
    const { place, log } = journal();
    const outside = join(folder(), "secret");
    writeFileSync(outside, "outside");
    symlinkSync(outside, join(place, "communication.md"));
    await log.append([event(1, "one")]);
    await snapshotOf(place);
    expect(readFileSync(outside, "utf8")).toBe("outside");
    expect(fileOf(place, "communication.md")).toMatch(/^# Communication Snapshot\n/);
    await log.close();
  });

  it("R-003.17: bad lines go to events.error.log once, with their number, and become one error event each, also after rescans", async () => {
    const { place, log, file } = journal();
    await log.append([event(4, "one")]);
    appendFileSync(file, 'no event\n{"interaction":"x"}\n\n');
    await log.append([event(4, "two")]);
    appendFileSync(file, "\xff\n", "latin1");
    await snapshotOf(place);
    await snapshotOf(place, { rebuild: true });
    rmSync(join(place, "snapshot.state"));
    expect(await snapshotOf(place)).toMatchObject({ bad_lines: 3, events: 5 });
    const records = fileOf(place, "events.error.log")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records).toMatchObject([
      { line_number: 2, length: 8, reason: "not JSON", bytes: Buffer.from("no event").toString("base64") },
      { line_number: 3, reason: "interaction is not a whole number from 0 up" },
      { line_number: 6, length: 1, reason: "not UTF-8" },
    ]);
    const errors = (await readJournal(place)).stored.map((item) => item.event).filter(({ type }) => type === "error");
    expect(errors.map(({ data }) => data)).toMatchObject([2, 3, 6].map((line_number) => ({ line_number })));
    expect(errors.map(({ id }) => id)).toEqual(records.map((record) => record.event));
    expect(fileOf(place, "communication.md")).toContain("Line 6 of events.log is not an event (not UTF-8)");
    // Without the record the event still tells that it was seen.
    rmSync(join(place, "events.error.log"));
    await snapshotOf(place, { rebuild: true });
    expect((await readJournal(place)).stored).toHaveLength(5);
    await log.close();
  });
});

describe("agents in the journal", () => {
  it("R-003.7, R-003.9: what agents report and say is in the journal; their events carry their id", async () => {
    const at = lab();
    const script = [
      `"${process.execPath}" "${CLI}" event 5 Me question "may I?"`,
      `"${process.execPath}" "${CLI}" progress working "half way" --percent 50`,
      `"${process.execPath}" "${CLI}" finding bug high "it leaks"`,
      `"${process.execPath}" "${CLI}" event 5 Me note no --agent other-1 || echo refused`,
    ].join("; ");
    const { agent, task } = await at.sh(script);
    await at.workspace.runs.wait([agent]);
    const events = (await readJournal(at.root)).stored.map((item) => item.event);
    expect(events.filter(({ type }) => ["question", "progress", "finding"].includes(type))).toMatchObject([
      { interaction: 5, actor: agent, agent, task, content: "may I?" },
      {
        actor: agent,
        agent,
        task,
        type: "progress",
        content: "working: half way",
        data: { status: "working", percent: 50 },
      },
      { actor: agent, agent, task, type: "finding", content: "high bug: it leaks", data: { severity: "high" } },
    ]);
    expect(events.filter(({ type }) => type.startsWith("agent."))).toMatchObject([
      { type: "agent.started", actor: "midwatch", interaction: 0, agent, task, data: { run: 1 } },
      { type: "agent.ended", actor: "midwatch", interaction: 0, agent, task, data: { run: 1, outcome: "completed" } },
    ]);
    expect((await at.raw(agent)).toString()).toContain("refused");
  });

  it("R-003.7: run --journal turns logs what the agent said as one conversation, once", async () => {
    const at = lab();
    const program = join(at.folder, "talker");
    const say = (text: string): string => `console.log(JSON.stringify({ say: ${JSON.stringify(text)} }));`;
    writeFileSync(program, `#!${process.execPath}\n${say("First.")}\n${say("## Interaction #9")}\n`, { mode: 0o755 });
    const config = { drivers: { talker: { program, json: true, text: "say" } } };
    writeConfig(at.folder, config);
    await at.workspace.journal.append({ interaction: 3, actor: "A", type: "note", content: "before" });
    const ran = await at.cli("run", "--wait", "--json", "--driver", "talker", "--journal", "turns", "talk");
    expect(ran.code).toBe(0);
    await at.open().runs.list({ all: true });
    const turns = (await readJournal(at.root)).stored.map((item) => item.event).filter(({ type }) => type === "turn");
    expect(turns).toMatchObject([
      { interaction: 4, content: "First.", data: { run: 1 } },
      { interaction: 4, content: "## Interaction #9" },
    ]);
    await snapshotOf(at.root);
    expect(fileOf(at.root, "communication.md")).toContain("#### turn\n - First.\n#### turn\n - \\## Interaction #9\n");
  });

  it("R-003.3: what a keeper writes is an event too", async () => {
    const at = lab({ wall_limit: "200ms", limit_policy: "notify" });
    const { agent } = await at.sh(`until grep -q agent.limit "${at.root}/events.log"; do sleep 0.02; done`);
    await at.workspace.runs.wait([agent]);
    const { stored, bad } = await readJournal(at.root);
    expect(bad).toEqual([]);
    expect(stored.map((item) => item.event)).toContainEqual(
      expect.objectContaining({ type: "agent.limit", agent, v: 1 }),
    );
  });

  it("midwatch up keeps the snapshot up to date", async () => {
    const at = lab();
    await at.workspace.journal.append({ interaction: 1, actor: "A", type: "question", content: "are you there?" });
    expect((await at.cli("up", "--once")).code).toBe(0);
    expect(fileOf(at.root, "communication.md")).toContain("are you there?");
  });
});
