// Seed 003, in its order: its commands and scripts in the folder of a project that `midwatch sync --init` made ready, with the defaults. What does
// not run as it is printed there runs corrected, as the note beside it says.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  appendFileSync,
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { JournalEvent } from "../../src/index.ts";
import { fileOf, readJournal } from "../support/data/journal.ts";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { GitServer } from "../support/net/git-server.ts";
import { Receiver } from "../support/net/receiver.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Ended, type Lab, text, until } from "../support/workspace.ts";

const BIN = "/usr/local/bin:/usr/bin:/bin";
const CALL = './scripts/log_event.sh 1 "Agent A" "question" "How do I start the MCP server?"';

/** A command as it stands in the seed, in the folder of the project. */
function shell(at: string, command: string, env: NodeJS.ProcessEnv = process.env): Ended {
  const options = { cwd: at, encoding: "utf8", env, timeout: patient(60_000) } as const;
  const { status, signal, stdout, stderr } = spawnSync("bash", ["-c", command], options);
  return { code: status, signal, stdout, stderr };
}

function done(at: string, command: string, env?: NodeJS.ProcessEnv): string {
  const { code, stdout, stderr } = shell(at, command, env);
  expect([command, code, code === 0 ? "" : stderr]).toEqual([command, 0, ""]);
  return stdout;
}

function bare(): string {
  const at = join(folder(), "remote.git");
  execFileSync("git", ["init", "--quiet", "--bare", at]);
  execFileSync("git", ["-C", at, "config", "http.receivepack", "true"]);
  return at;
}

/** Its section 0 up to the end of 1: nothing of the user's own answers for the test. */
async function project(remote = bare()): Promise<{ at: Lab; remote: string }> {
  const at = lab();
  done(at.folder, "git init --quiet -b main");
  done(at.folder, `git remote add origin ${remote}`);
  expect(await at.cli("sync", "--init")).toMatchObject({ code: 0 });
  return { at, remote };
}

const log = (at: Lab, n: number, actor: string, type: string, content: string): void =>
  void execFileSync(join(at.folder, "scripts/log_event.sh"), [String(n), actor, type, content], { cwd: at.folder });

async function events(at: Lab): Promise<JournalEvent[]> {
  return (await readJournal(at.root)).stored.map(({ event }) => event);
}

function fiveEvents(at: Lab): void {
  for (let n = 1; n <= 5; n++) log(at, n, "Agent A", "question", `How do I start server ${n}?`);
}

const snapshotOf = (...numbers: number[]): string =>
  `# Communication Snapshot\n<!-- BEGIN COMMUNICATION -->\n${numbers.map((n) => `### Interaction #${n}\n#### A → B\n - How do I start server ${n}?\n\n`).join("")}<!-- END COMMUNICATION -->\n`;

describe("0 and 1: the repository, the baseline files, the scripts", () => {
  it("R-003.1, R-003.2, R-003.29: the layout it asks for is there and committed, and the scripts can be run", async () => {
    const { at, remote } = await project();
    expect(done(at.folder, "git log --format=%s")).toBe("chore: initial commit\n");
    const committed = done(at.folder, "git ls-files").split("\n");
    for (const name of ["scripts/log_event.sh", "scripts/generate_snapshot.sh"]) {
      accessSync(join(at.folder, name), constants.X_OK); // Its chmod +x.
      expect(committed).toContain(name);
    }
    for (const name of ["events.log", "communication.md", "archive.md"]) {
      expect([committed.includes(name), existsSync(join(at.folder, name))]).toEqual([true, true]);
      expect(readlinkSync(join(at.folder, name))).toBe(`.agent-workspace/${name}`);
    }
    expect(committed).toContain("README.md");
    done(at.folder, "git push -u --quiet origin main");
    expect(execFileSync("git", ["-C", remote, "branch", "--format=%(refname:short)"], { encoding: "utf8" })).toBe(
      "main\nmidwatch-journal\n",
    );
  });
});

/** As it is printed there, but for the place of `timestamp` (jq is not given it) and of the event (its quotes are lost in the inner shell). */
const HELPER = `#!/usr/bin/env bash
LOGFILE="$(pwd)/events.log"
timestamp=$(date -u +"%Y-%m-%dT%H:%M:%SZ")
event=$(jq -n \\
  --arg i "$1" \\
  --arg actor "$2" \\
  --arg type "$3" \\
  --arg content "$4" \\
  --arg timestamp "$timestamp" \\
  '{interaction: ($i|tonumber), actor: $actor, type: $type, content: $content, timestamp: $timestamp}')
# Append under lock
flock --exclusive "$LOGFILE" bash -c 'echo "$1" >> "$0"' "$LOGFILE" "$event"
`;

/** As it is printed there, but for the quotes round the two programs of jq, and each event's content below its own heading. */
const GENERATOR = `#!/usr/bin/env bash
events_file="$(pwd)/events.log"
comm_file="$(pwd)/communication.md"
archive_file="$(pwd)/archive.md"
K=3
events=$(jq -s '.' "$events_file")
interactions=( $(echo "$events" | jq -r '.[].interaction' | sort -n | uniq) )
echo "# Communication Snapshot" > "$comm_file"
echo "<!-- BEGIN COMMUNICATION -->" >> "$comm_file"
archived=(\${interactions[@]:0:\${#interactions[@]}-K})
recent=(\${interactions[@]: -K})
for i in "\${archived[@]}"; do
  echo "## Interaction #$i" >> "$archive_file"
  echo "$events" | jq -r ".[] | select(.interaction==$i) | "'"- [\\(.actor) \\(.type) \\(.timestamp)]
\\(.content)"' >> "$archive_file"
  echo "" >> "$archive_file"
done
for i in "\${recent[@]}"; do
  echo "### Interaction #$i" >> "$comm_file"
  echo "$events" | jq -r ".[] | select(.interaction==$i) | "'(if .type=="question" then "#### A → B" else if .type=="answer" then "#### B → A" else if .type=="followup" then "#### A Follow-Up" else "#### heartbeat" end end end), (" - " + .content)' >> "$comm_file"
  echo "" >> "$comm_file"
done
echo "<!-- END COMMUNICATION -->" >> "$comm_file"
`;

describe("2 and 3: its helper and its generator", () => {
  it("R-003.3: the call of its helper gives the event with its five fields, which jq reads", async () => {
    const { at } = await project();
    done(at.folder, CALL);
    const [event] = JSON.parse(done(at.folder, "jq -s '.' events.log"));
    expect(event).toEqual({
      interaction: 1,
      actor: "Agent A",
      type: "question",
      content: "How do I start the MCP server?",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  });

  it("R-003.4, R-003.28: its own helper beside ours: its events, on several lines each, are read as they were meant", async () => {
    const { at } = await project();
    writeFileSync(join(at.folder, "helper.sh"), HELPER, { mode: 0o755 });
    done(
      at.folder,
      `for n in 1 2 3 4 5; do ./helper.sh $n "Agent B" answer 'say "npm start" '$n & ./scripts/log_event.sh $n "Agent A" question "How $n?" & done; wait`,
    );
    const all = await events(at);
    expect(all.filter(({ actor }) => actor === "Agent B").map(({ content }) => content)).toHaveLength(5);
    expect(new Set(all.map(({ content }) => content))).toEqual(
      new Set([1, 2, 3, 4, 5].flatMap((n) => [`say "npm start" ${n}`, `How ${n}?`])),
    );
    expect((await readJournal(at.root)).bad).toEqual([]);
  });

  it("R-003.5, R-003.6: its own generator and ours make the same of one journal, but for blank lines", async () => {
    const { at } = await project();
    const types = ["question", "answer", "followup", "heartbeat"];
    for (let n = 1; n <= 5; n++) for (const type of types) log(at, n, "Agent A", type, `${type} ${n}, "quoted"`);
    done(at.folder, "./scripts/generate_snapshot.sh");
    const theirs = folder();
    copyFileSync(join(at.root, "events.log"), join(theirs, "events.log"));
    writeFileSync(join(theirs, "generate_snapshot.sh"), GENERATOR, { mode: 0o755 });
    done(theirs, "./generate_snapshot.sh");
    const lines = (root: string, name: string): string[] => fileOf(root, name).split("\n").filter(Boolean);
    for (const name of ["communication.md", "archive.md"]) expect(lines(at.root, name)).toEqual(lines(theirs, name));
  });
});

describe("4: integration and testing", () => {
  it("R-003.3, R-003.5, R-003.30: 1 five events by hand, then generate_snapshot.sh: three are recent, two in the archive; jq alone gives the same", async () => {
    const { at } = await project();
    fiveEvents(at);
    done(at.folder, "./scripts/generate_snapshot.sh");
    const [recent, archive] = ["communication.md", "archive.md"].map((name) => done(at.folder, `cat ${name}`));
    expect(recent).toBe(snapshotOf(3, 4, 5));
    expect(archive?.match(/^## .*|^How .*/gm)).toEqual(
      [1, 2].flatMap((n) => [`## Interaction #${n}`, `How do I start server ${n}?`]),
    );
    const theirs = folder();
    mkdirSync(join(theirs, ".agent-workspace"));
    copyFileSync(join(at.root, "events.log"), join(theirs, ".agent-workspace/events.log"));
    scriptsWithoutMidwatch(at.folder, theirs);
    done(theirs, "./scripts/generate_snapshot.sh", { PATH: BIN });
    expect(fileOf(theirs, ".agent-workspace/communication.md")).toBe(recent);
    expect(fileOf(theirs, ".agent-workspace/archive.md")).toBe(archive);
  });

  it("R-003.7, R-003.9: 2 an agent that logs each turn and renders behind it: after each the snapshot has it", async () => {
    const { at } = await project();
    const turn = `./scripts/log_event.sh $n "Agent A" question "How do I start server $n?" && ./scripts/generate_snapshot.sh >&2`;
    const script = `cd "${at.folder}"; for n in 1 2 3 4; do ${turn}; grep -c "server $n" communication.md; done`;
    const { agent } = await at.sh(script);
    expect(await at.workspace.runs.wait([agent])).toMatchObject([{ outcome: "completed" }]);
    expect((await at.raw(agent)).toString()).toBe("1\n1\n1\n1\n");
    expect(fileOf(at.root, "communication.md")).toMatch(/### Interaction #2\n[\s\S]*#3\n[\s\S]*#4\n/);
  });

  const inotify = spawnSync("sh", ["-c", "command -v inotifywait"]).status === 0;
  if (!inotify) console.warn("SKIPPED: inotifywait is not installed: its loop was not run; `snapshot --watch` was.");
  /** Until the event is rendered that was appended before the last: a loop misses what comes while it renders. */
  async function rendered(at: Lab): Promise<void> {
    let n = 0;
    await until(() => {
      log(at, ++n, "Agent A", "question", `How do I start server ${n}?`);
      return fileOf(at.root, "communication.md").includes(`How do I start server ${Math.max(1, n - 1)}?`);
    });
  }

  it("R-003.8: 3 a watcher renders again when the journal changes: snapshot --watch", async () => {
    const { at } = await project();
    const child = at.node(CLI, "snapshot", "--watch", "--workspace", at.root);
    await rendered(at);
    const gone = once(child, "exit");
    child.kill("SIGINT");
    await gone;
  });

  it.skipIf(!inotify)("3 the same by its loop of inotifywait", async () => {
    const { at } = await project();
    const loop = "while inotifywait -q -e close_write events.log; do ./scripts/generate_snapshot.sh; done";
    const child = spawn("bash", ["-c", loop], { cwd: at.folder, detached: true, stdio: "ignore" });
    onTestFinished(async () => {
      const gone = once(child, "exit");
      process.kill(-(child.pid ?? 0), "SIGKILL"); // Its own group: exactly what was started here.
      await gone;
    });
    await rendered(at);
  });

  it("R-003.4, R-003.9: 4 Agent B joins: 40 events of two at once, none spoilt, and the snapshot has the last three", async () => {
    const { at } = await project();
    const agent = (name: string, type: string): string =>
      `for n in $(seq 1 20); do ./scripts/log_event.sh $n "Agent ${name}" ${type} "${name}$n"; done`;
    done(at.folder, `(${agent("A", "question")}) & (${agent("B", "answer")}) & wait`);
    expect(done(at.folder, "jq -s length events.log")).toBe("40\n");
    const all = await events(at);
    for (const name of ["A", "B"])
      expect(all.filter(({ actor }) => actor === `Agent ${name}`).map(({ content }) => content)).toEqual(
        Array.from({ length: 20 }, (_, n) => `${name}${n + 1}`),
      );
    done(at.folder, "./scripts/generate_snapshot.sh");
    expect(done(at.folder, "grep -o '^### .*' communication.md")).toBe(
      "### Interaction #18\n### Interaction #19\n### Interaction #20\n",
    );
  });
});

describe("6: error handling", () => {
  it("R-003.10, R-003.11, R-003.25: 6.1 the heartbeats of a leader that was killed end, and the next one leads (T of one second here)", async () => {
    const { at } = await project();
    const { agent } = await at.run("sleep", "600"); // Heartbeats are events while agents live.
    const lead = (): ChildProcess => at.node(CLI, "lead", "--leader-ttl", "1s", "--workspace", at.root);
    const beats = (): string[] =>
      done(at.folder, `jq -rR 'fromjson? | select(.type == "heartbeat") | .actor' events.log`)
        .split("\n")
        .filter(Boolean);
    const first = lead();
    await until(() => beats().length > 0);
    const [leader] = beats();
    const second = lead();
    const gone = once(first, "exit");
    first.kill("SIGKILL");
    await gone;
    await until(() => new Set(beats()).size === 2);
    const elected = done(
      at.folder,
      `jq -cR 'fromjson? | select(.type == "leader_election") | [.term, .actor]' events.log`,
    );
    const [one, two] = elected
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([one, two]).toEqual([
      [1, leader],
      [2, beats().at(-1)],
    ]);
    second.kill("SIGTERM");
    await at.workspace.runs.stop([agent]);
  });

  it("R-003.13: 6.2 a lock that somebody holds: three tries, then the event it asks for, and the line is there all the same", async () => {
    const { at } = await project();
    done(at.folder, `exec 9>>events.log; flock 9; ./scripts/log_event.sh 7 AgentX answer done 9>&-`);
    expect(await events(at)).toMatchObject([
      { interaction: 7, actor: "AgentX", type: "answer", content: "done" },
      { interaction: 7, actor: "AgentX", type: "error", content: "Failed to acquire lock on events.log" },
    ]);
  });

  it.skipIf(!mayMount)(
    "R-003.14: 6.2 a full disk: the event is refused with a reason and no half line is left; when there is room it goes on",
    async () => {
      const at = lab({}, tmpfs("size=4m"));
      expect(await at.cli("event", "--init-scripts")).toMatchObject({ code: 0 });
      log(at, 1, "Agent A", "note", "first");
      shell(at.folder, "dd if=/dev/zero of=filler bs=4k; dd if=/dev/zero of=filler2 bs=1");
      const full = await at.cli("event", "--json", "1", "Agent A", "note", "x".repeat(100_000));
      expect([full.code, JSON.parse(full.stderr).error]).toEqual([
        expect.any(Number),
        expect.objectContaining({ code: "DISK_FULL", hint: expect.any(String) }),
      ]);
      rmSync(join(at.folder, "filler"));
      rmSync(join(at.folder, "filler2"));
      log(at, 1, "Agent A", "note", "second");
      expect((await events(at)).map(({ content }) => content)).toEqual(["first", "second"]);
    },
  );

  it("R-003.15: 6.3 the remote is gone: an error event, events.offline.log has what waits; when it is back all goes out, once", async () => {
    const { at, remote } = await project();
    renameSync(remote, `${remote}.away`);
    log(at, 1, "Agent A", "question", "Are you there?");
    const away = await at.cli("sync", "--json");
    expect(away.code).not.toBe(0);
    const [error] = (await events(at)).filter(({ type }) => type === "error");
    expect(error?.content).toMatch(/sync/i);
    expect(fileOf(at.root, "events.offline.log")).toContain("Are you there?");
    renameSync(`${remote}.away`, remote);
    expect(await at.cli("sync")).toMatchObject({ code: 0 });
    expect(existsSync(join(at.root, "events.offline.log"))).toBe(false);
    const there = execFileSync("git", [
      "-C",
      remote,
      "grep",
      "-h",
      "Are you there",
      "midwatch-journal",
      "--",
      "events",
    ]);
    expect(there.toString().trim().split("\n")).toHaveLength(1);
  });

  it("R-003.16: 6.3 wrong credentials: it stops at once with a clear message, and goes on when they are right", async () => {
    const remote = bare();
    const server = await GitServer.start(join(remote, ".."));
    onTestFinished(() => server.close());
    server.mood = { password: "right" };
    const at = lab();
    log1(at, "hello");
    const wrong = await at.cli("sync", "--json", "--remote", server.url("remote.git", "me:wrong@"));
    expect(wrong.code).not.toBe(0);
    expect(wrong.stdout + wrong.stderr).toMatch(/Authentication failed/);
    expect(await at.cli("sync", "--remote", server.url("remote.git", "me:right@"))).toMatchObject({ code: 0 });
  });

  function log1(at: Lab, content: string): void {
    execFileSync(process.execPath, [CLI, "--workspace", at.root, "event", "1", "Agent A", "note", content]);
  }

  it("R-003.17: 6.4 a line that is no JSON goes to events.error.log, the rest is rendered, and an error event names the line", async () => {
    const { at } = await project();
    log(at, 1, "Agent A", "question", "before");
    appendFileSync(join(at.folder, "events.log"), "{not json\n");
    log(at, 2, "Agent A", "question", "behind");
    done(at.folder, "./scripts/generate_snapshot.sh");
    expect(done(at.folder, "grep -o '^ - be.*' communication.md")).toBe(" - before\n - behind\n");
    const [bad] = fileOf(at.root, "events.error.log")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect([bad.line_number, Buffer.from(bad.bytes, "base64").toString()]).toEqual([2, "{not json"]);
    const [error] = (await events(at)).filter(({ type }) => type === "error");
    expect(error?.content).toMatch(/^Line 2 of events\.log/);
  });

  it("R-003.18: 6.4 a generator that dies: the last good snapshot comes back from communication.md.bak", async () => {
    const { at } = await project();
    const theirs = folder();
    mkdirSync(join(theirs, ".agent-workspace"));
    scriptsWithoutMidwatch(at.folder, theirs);
    const root = join(theirs, ".agent-workspace");
    for (const n of [1, 2])
      done(
        theirs,
        `./scripts/log_event.sh ${n} "Agent A" question "How do I start server ${n}?" && ./scripts/generate_snapshot.sh`,
        {
          PATH: BIN,
        },
      );
    expect(fileOf(root, "communication.md.bak")).toBe(snapshotOf(1));
    truncateSync(join(root, "communication.md"), 30);
    const bin = join(theirs, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "jq"), "#!/bin/sh\nexit 5\n", { mode: 0o755 });
    expect(shell(theirs, "./scripts/generate_snapshot.sh", { PATH: `${bin}:${BIN}` }).code).not.toBe(0);
    expect(fileOf(root, "communication.md")).toBe(snapshotOf(1));
  });

  it("R-003.19, R-003.20: 6.5 one that crashed goes on behind agent-<id>.checkpoint: nothing is left out", async () => {
    const { at } = await project();
    fiveEvents(at);
    const seen: number[] = [];
    const handle = (crashAt: number) => (event: JournalEvent) => {
      if (event.interaction === crashAt) throw new Error("crashed");
      seen.push(event.interaction);
    };
    await expect(at.workspace.journal.consume("bob", handle(3))).rejects.toThrow("crashed");
    expect(done(at.folder, "head -n 1 .agent-workspace/agent-bob.checkpoint")).toBe("2\n");
    await at.open().journal.consume("bob", handle(0));
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(done(at.folder, "head -n 1 .agent-workspace/agent-bob.checkpoint")).toBe("5\n");
    expect(await at.cli("checkpoint", "bob")).toMatchObject({ stdout: expect.stringContaining("5") });
  });

  it("R-003.21, R-003.22: 6.6 `health` shows heartbeats, elections and errors, and a webhook is called for an error event", async () => {
    const { at } = await project();
    const hooks = await Receiver.open();
    onTestFinished(() => hooks.close());
    vi.stubEnv("SEED_HOOK", hooks.secret);
    onTestFinished(() => void vi.unstubAllEnvs());
    const routes = { hook: { to: "webhook", url: hooks.url("/hook"), secret: { env: "SEED_HOOK" }, private: true } };
    writeConfig(at.folder, { alerts: { routes, rules: [{ type: "error", routes: ["hook"] }] } });
    log(at, 1, "Agent A", "error", "old news");
    const up = at.node(CLI, "up", "--no-http", "--workspace", at.root);
    await until(() => text(join(at.root, "registers/alerts/1.json")) !== "");
    log(at, 1, "Agent A", "heartbeat", "alive");
    log(at, 1, "AgentX", "error", "cannot go on");
    await until(() => hooks.at("/hook").length === 1);
    expect(JSON.parse(hooks.at("/hook")[0]?.body ?? "")).toMatchObject({
      type: "error",
      data: { severity: "error", text: expect.stringContaining("cannot go on"), event: { actor: "AgentX" } },
    });
    const { stdout } = await at.cli("health", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ elections: [{ term: 1 }], leader: { state: "held" } });
    for (const what of ["Agent A", "cannot go on"]) expect(stdout).toContain(what);
    const gone = once(up, "exit");
    up.kill("SIGTERM");
    await gone;
  });
});

/** The scripts as they lie in a clone on a machine that has no midwatch. */
function scriptsWithoutMidwatch(from: string, to: string): void {
  mkdirSync(join(to, "scripts"));
  for (const name of ["log_event.sh", "generate_snapshot.sh"]) {
    const script = readFileSync(join(from, "scripts", name), "utf8");
    writeFileSync(join(to, "scripts", name), script.replace(/^if .* --version .*; fi\n/m, ""));
    chmodSync(join(to, "scripts", name), 0o755);
  }
}
