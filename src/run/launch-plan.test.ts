import { describe, expect, it } from "vitest";
import { loadConfig } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { layout } from "../disk/layout.ts";
import type { Driver, LaunchRequest } from "../drivers/driver.ts";
import type { KeeperAnswer } from "../process/keeper.ts";
import {
  afterError,
  commonOrders,
  composedOf,
  intentOf,
  parentId,
  problemOf,
  type Request,
  runOrders,
  type StartOptions,
  wantsWorktree,
  warningOf,
} from "./launch-plan.ts";

const id = (name: string): AgentId => name as AgentId;
const begun = {
  v: 1 as const,
  agent: id("a"),
  task: "TASK-1" as TaskId,
  run: 1,
  nonce: "n",
  boot_id: "b",
  pid_ns: "p",
  created_at: "2026-01-01T00:00:00.000Z",
  created_mono_ms: 5,
  driver: "command",
};
const place = { callerCwd: "/home", cwd: "/home/project", parent: undefined, above: [], tree: undefined, usualMost: 8 };
const config = loadConfig();
const asked = (options: StartOptions = {}): IntentFact => intentOf(options, begun, place, config);

it.each([
  [{}, false],
  [{ worktree: false }, false],
  [{ worktree: true }, true],
  [{ branch: "x" }, true],
])("a worktree is wanted: %j %s", (options, expected) => expect(wantsWorktree(options)).toBe(expected));

it.each([
  ["a person starts one", undefined, undefined, false, undefined],
  ["a person names a parent", undefined, id("b"), false, "b"],
  ["R-004.12: an agent is the parent of what it starts", id("a"), undefined, false, "a"],
  ["R-004.12: it may name itself", id("a"), id("a"), false, "a"],
  ["R-004.12: it may name one below it", id("a"), id("b"), true, "b"],
])("%s", (_, caller, named, below, expected) => expect(parentId(caller, named, () => below)).toBe(expected));

it("R-004.12: an agent starts none for another", () =>
  expect(() => parentId(id("a"), id("b"), () => false)).toThrow(expect.objectContaining({ code: "REFUSED_RIGHT" })));

describe("the intent", () => {
  const tree = {
    cwd: "/w/a/sub",
    fact: { v: 1 as const, path: "/w/a", repository: "/r/.git", base: "c0", branch: "x", copied: [], made_at: "" },
    source: { top: "/r", common: "/r/.git", head: "c0", below: "sub", changes: 0 },
  };

  it("says nothing that was not asked for", () => {
    const { limits, ...intent } = asked();
    expect(intent).toMatchObject({
      ...begun,
      role: null,
      name: null,
      parent: null,
      depth: 0,
      argv: [],
      cwd: "/home/project",
      prompt: null,
      stdin: null,
      model: null,
      permission: "ask",
      session: null,
      resume: false,
      interactive: false,
      args: [],
      env_file: null,
      worktree: null,
      git: null,
      labels: [],
      queued: false,
      capability: "",
      grace_ms: config.grace,
      tier: config.tier,
    });
    expect(limits.output_bytes).toBe(config.output_limit);
    expect(Object.keys(intent)).not.toContain("journal");
    expect(Object.keys(intent)).not.toContain("mcp");
  });

  it.each<[string, StartOptions, object, Partial<IntentFact>]>([
    [
      "its command",
      { argv: ["make", "x"], args: ["-v"], labels: ["l"] },
      {},
      { argv: ["make", "x"], args: ["-v"], labels: ["l"] },
    ],
    [
      "its names",
      { role: "r", name: "n", model: "m", prompt: "p" },
      {},
      { role: "r", name: "n", model: "m", prompt: "p" },
    ],
    [
      "what it may do",
      { permission: "all", interactive: true, queue: true },
      {},
      { permission: "all", interactive: true, queued: true },
    ],
    ["its input, from where it works", { stdin: "in" }, {}, { stdin: "/home/project/in" }],
    ["its environment, from where the caller is", { envFile: ".env" }, {}, { env_file: "/home/.env" }],
    ["the journal", { journal: "turns" }, {}, { journal: "turns" }],
    ["no server of ours", { mcp: false }, {}, { mcp: false }],
    ["its parent", {}, { parent: { id: id("p"), depth: 2 } }, { parent: id("p"), depth: 3 }],
    [
      "its worktree",
      {},
      { tree },
      { cwd: "/w/a/sub", worktree: "/w/a", git: { repository: "/r/.git", base: "c0", branch: "x" } },
    ],
  ])("keeps %s", (_, options, more, expected) =>
    expect(intentOf(options, begun, { ...place, ...more }, config)).toMatchObject(expected),
  );
});

describe("what is executed", () => {
  const env = { MIDWATCH_CAPABILITY: "c" };
  const none = (): never => {
    throw new Error("a command makes no request");
  };
  const command = { name: "command", program: null } as Driver;
  it.each([
    ["as it was asked for", {}, null],
    ["with a file of the caller's as its input", { stdin: "in" }, null],
    [
      "a prompt is its first message when it is interactive",
      { interactive: true, prompt: "p" },
      { text: "p", driver: command },
    ],
    ["interactive, and nothing to say yet", { interactive: true }, null],
    ["a prompt is its input", { prompt: "p" }, null],
  ])("a command: %s", (_, options, message) => {
    const intent = asked({ argv: ["make"], ...options });
    expect(composedOf(command, intent, env, none, "/prompt")).toEqual({ intent, env, input: null, message, files: [] });
  });

  const requests: LaunchRequest[] = [];
  const cli = (session: string | null): Driver =>
    ({
      name: "cli",
      program: "cli",
      launch: (request: LaunchRequest) => {
        requests.push(request);
        return {
          argv: ["cli", "-p"],
          env: { KEY: "k" },
          stdin: request.prompt,
          files: [{ name: "f", content: "" }],
          session,
        };
      },
    }) as unknown as Driver;
  const request: Request = {
    prompt: "brief",
    writable: [],
    mcp: [],
    session: "new",
    env: {},
    root: false,
    folder: "/run",
  };
  it.each([
    ["a session that we chose", "new", {}, { session: "new", stdin: "/prompt" }, null],
    ["a session that its stream will tell", null, {}, { session: null, stdin: "/prompt" }, null],
    ["a session that goes on", null, { resume: true, session: "old" }, { session: "old", stdin: "/prompt" }, "old"],
    ["an old session that does not go on", null, { session: "old" }, { session: null, stdin: "/prompt" }, null],
    ["interactive", null, { interactive: true }, { session: null, stdin: null }, null],
  ])("a CLI: %s", (_, session, more, expected, resumed) => {
    const driver = cli(session);
    const intent = { ...asked({ prompt: "p", model: "m" }), ...more };
    const composed = composedOf(driver, intent, env, () => request, "/prompt");
    expect(composed.intent).toEqual({ ...intent, argv: ["cli", "-p"], ...expected });
    expect(composed).toMatchObject({ env: { KEY: "k", ...env }, input: "brief", files: [{ name: "f", content: "" }] });
    expect(composed.message).toEqual(intent.interactive ? { text: "brief", driver } : null);
    expect(requests.at(-1)).toMatchObject({
      ...request,
      model: "m",
      permission: "ask",
      cwd: "/home/project",
      resume: resumed,
    });
  });
});

describe("the orders to a keeper", () => {
  const paths = layout("/w");
  const orders = (options: StartOptions, run = 1) => {
    const intent = { ...asked({ argv: ["make", "x"], ...options }), run };
    return runOrders(paths, { intent, env: { A: "1" }, input: null, message: null, files: [] }, "/state/later");
  };

  it("R-004.19: each argument and variable is one order, and the run's own come last", () => {
    expect(orders({}).slice(-7)).toEqual([
      ["cwd", "/home/project"],
      ["arg", "make"],
      ["arg", "x"],
      ["env", "A=1"],
      ["env", "MIDWATCH_WORKSPACE=/w"],
      ["env", "MIDWATCH_AGENT=a"],
      ["env", "MIDWATCH_RUN=1"],
    ]);
  });

  const marker = `{"type":"lifecycle","event":"agent_restart","agent_id":"a","run":2,"timestamp":"${begun.created_at}"}\n`;
  it.each([
    ["R-000.38, R-000.52: the first line of a later run", {}, 2, ["first_line", marker]],
    ["its input", { stdin: "/in" }, 1, ["stdin", "/in"]],
    ["a FIFO for messages", { interactive: true }, 1, ["fifo", paths.run(begun.task, begun.agent, 1).input]],
  ])("%s", (_, options, run, order) => {
    expect(orders(options, run)).toContainEqual(order);
    expect(orders({}).map(([name]) => name)).not.toContain(order[0]);
  });

  it("one that takes over is not told what to execute", () => {
    const names = new Set(commonOrders(paths, asked({ argv: ["make"] }), "").map(([name]) => name));
    for (const name of ["arg", "env", "cwd", "stdin"]) expect(names).not.toContain(name);
  });
});

describe("what an answer means", () => {
  const refused = (what: string) => ({ start: { exec_error: { what, name: "ENOENT", errno: 2 } } }) as KeeperAnswer;
  it.each<[string, KeeperAnswer, StartOptions, string | undefined]>([
    ["it runs", { start: { exec_error: null } } as KeeperAnswer, {}, undefined],
    ["it was adopted", { adopted: true }, {}, undefined],
    [
      "R-004.11: another was faster",
      { error: { code: "CLAIMED", message: "x" } },
      {},
      "Another process gave this launch up.",
    ],
    ["its keeper says why", { error: { code: "DISK_FULL", message: "No room." } }, {}, "No room."],
    ["exec", refused("exec"), {}, "The keeper could not execute make: ENOENT."],
    ["cwd", refused("cwd"), {}, "The keeper could not enter /home/project: ENOENT."],
    ["stdin", refused("stdin"), { stdin: "in" }, "The keeper could not open /home/project/in: ENOENT."],
    ["its own input", refused("stdin"), {}, "The keeper could not open its input: ENOENT."],
    ["fork", refused("fork"), {}, "The keeper could not start a process: ENOENT."],
    ["a log", refused("log"), {}, "The keeper could not open its log: ENOENT."],
  ])("%s", (_, answer, options, problem) =>
    expect(problemOf(answer, asked({ argv: ["make"], ...options }))).toBe(problem),
  );

  const taken = new MidwatchError("DUPLICATE_ID", "");
  it.each([
    ["R-000.8: the id is taken: another is tried", taken, 1, { again: true, undoes: false }],
    ["R-000.8: five times", taken, 5, { again: false, undoes: false }],
    ["another error of ours", new MidwatchError("DISK_FULL", ""), 1, { again: false, undoes: true }],
    ["an error of nobody", new TypeError(), 1, { again: false, undoes: true }],
  ])("%s", (_, error, attempt, expected) => expect(afterError(error, attempt)).toEqual(expected));

  const free = { bytes: 1, inodes: 1 };
  const low = { state: "warning" as const, free, message: "little room" };
  const source = { top: "/r", common: "", head: "", below: "", changes: 2 };
  it.each([
    ["nothing to say", { state: "ok" as const, free }, undefined, undefined, undefined],
    ["R-000.14: little room", low, undefined, undefined, "little room"],
    ["all was committed", { state: "ok" as const, free }, { ...source, changes: 0 }, undefined, undefined],
    [
      "all at once",
      low,
      source,
      "no record",
      "no record; little room; 2 uncommitted changes of /r are not in the worktree",
    ],
  ])("a warning: %s", (_, room, of, launched, expected) => expect(warningOf(room, of, launched)).toBe(expected));
});
