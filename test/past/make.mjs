// `node test/past/make.mjs VERSION`: keeps the past of one release. It takes midwatch-VERSION.tgz beside this file (made by `npm pack`), lets that
// program make a project with agents of every kind, copies it while some of them still run, and writes project-VERSION.tar.gz with all
// that the release itself tells of the copy (told-VERSION.json). Run once a release; test/integration/past.test.ts opens it from then on.
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const version = process.argv[2];
const here = import.meta.dirname;
const home = mkdtempSync(join(tmpdir(), "midwatch-past-"));
const project = join(home, "project");
const streams = join(here, "..", "fixtures", "streams");

execFileSync("tar", ["-xzf", join(here, `midwatch-${version}.tgz`), "-C", home]);
const env = {
  PATH: `${join(home, "bin")}:${process.env.PATH}`,
  HOME: home,
  LANG: "C.UTF-8",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
};
const options = (cwd) => ({ cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
const midwatchIn = (cwd, ...args) => execFileSync(join(home, "package/dist/midwatch.js"), args, options(cwd));
const midwatch = (...args) => midwatchIn(project, ...args);
const start = (...args) => JSON.parse(midwatch("run", "--json", ...args).split("\n")[0]).agent;
const git = (...args) => execFileSync("git", args, options(project));

try {
  prepare();
  await makeAgents();
  await keep();
} finally {
  rmSync(home, { recursive: true, force: true });
}

function prepare() {
  mkdirSync(project);
  // A CLI that prints what the real one printed; only its session matters here.
  mkdirSync(join(home, "bin"));
  writeFileSync(
    join(home, "bin/claude"),
    `#!/bin/sh\ncat >/dev/null\ncat "${join(streams, "claude-success.jsonl")}"\n`,
    {
      mode: 0o755,
    },
  );
  execFileSync("git", ["init", "-q", "--bare", join(home, "remote.git")]);
  git("init", "-q", "-b", "main");
  writeFileSync(join(project, "readme.txt"), "a project\n");
  writeFileSync(join(project, ".gitignore"), ".agent-workspace/\n");
  git("add", ".");
  git("commit", "-q", "-m", "first");
}

async function makeAgents() {
  const task = JSON.parse(midwatch("task", "--json", "Port the parser", "--deliverable", "all tests pass")).task;
  const on = ["--task", task];
  const wait = (...ids) => midwatch("wait", "--json", ...ids);

  const twice = start(...on, "--name", "twice", "--", "sh", "-c", "echo '{\"n\":1}'; echo plain; echo oops >&2");
  wait(twice);
  midwatch("restart", twice);
  wait(twice);
  const failed = start(...on, "--name", "failed", "--role", "builder", "--", "sh", "-c", "seq 1 3000; exit 3");
  const packed = start(...on, "--name", "packed", "--", "sh", "-c", "seq 1 20000");
  const claude = start(...on, "--name", "claude", "--driver", "claude", "--permission", "all", "port it");
  const tree = start(
    "--worktree",
    "--name",
    "tree",
    "--",
    "sh",
    "-c",
    "echo x > new.txt; git add .; git commit -qm new; echo y > left.txt",
  );
  for (const id of [failed, packed, claude, tree]) tryTo(() => wait(id));
  midwatch("archive", packed);

  midwatch("progress", twice, "working", "half of it", "--percent", "50");
  midwatch("finding", twice, "bug", "high", "it leaks", "--data", '{"line":7}');
  midwatch("event", "1", "Agent A", "question", "How do I start the server?");
  appendFileSync(join(project, ".agent-workspace/events.log"), 'not json\n{"interaction":1}\n\n');
  midwatch("event", "1", "Agent B", "answer", "npm start");
  for (const n of [2, 3, 4, 5]) midwatch("event", `${n}`, "Agent A", "note", `conversation ${n}`);
  midwatch("checkpoint", twice, "3");
  midwatch("snapshot");
  midwatch("sync", "--remote", join(home, "remote.git"));

  const talks = start("--name", "talks", "--interactive", "--", "cat");
  midwatch("send", "--wait", talks, "hello");
  start("--name", "runs", "--", "sh", "-c", "echo begun; sleep 600");
  const over = start("--name", "over", "--interactive", "--", "cat");
  midwatch("send", "--close", over, "the last words");
  wait(over);
  const stopped = start("--name", "stopped", "--", "sh", "-c", "trap '' INT; echo up; sleep 600");
  await sleep(300);
  midwatch("stop", stopped);
  start("--name", "queued", "--queue", "--max-running", "1", "--", "sh", "-c", "echo my turn");
  midwatch("watch", "--once");
}

/** The copy is made while agents run; what the release says of it is asked when they have ended, as after a reboot. */
async function keep() {
  cpSync(project, join(home, "copy/project"), { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const lines = (text) =>
    text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  for (const { agent, phase } of lines(midwatch("ls", "--all", "--json")))
    if (phase !== "drained" && phase !== "archived") midwatch("stop", agent, "--grace", "0");
  // The token of a server is nobody's business.
  rmSync(join(home, "copy/project/.agent-workspace/http-token"), { force: true });
  const tarball = join(here, `project-${version}.tar.gz`);
  execFileSync("tar", ["--format=posix", "-czf", tarball, "-C", join(home, "copy"), "project"]);

  const copy = join(home, "copy/project");
  const ask = (...args) => lines(midwatchIn(copy, ...args, "--json"));
  const agents = ask("ls", "--all").map(({ agent }) => agent);
  const told = {
    tasks: ask("tasks"),
    ls: ask("ls", "--all"),
    show: Object.fromEntries(agents.map((id) => [id, ask("show", id)[0]])),
    logs: Object.fromEntries(agents.map((id) => [id, ask("logs", id, "-n", "20")])),
    events: ask("events"),
    communication: execFileSync("cat", [join(copy, ".agent-workspace/communication.md")], { encoding: "utf8" }),
  };
  writeFileSync(join(here, `told-${version}.json`), `${JSON.stringify(told, null, 1)}\n`);
}

function tryTo(ask) {
  try {
    ask();
  } catch (error) {
    if (error.status !== 1) throw error; // `wait` says that way that an agent did not complete
  }
}
