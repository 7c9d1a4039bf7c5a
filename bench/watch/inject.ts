/**
 * Trouble put into healthy stretches of real sessions, so that its beginning is known. Each kind is made of what stands in the session
 * itself (its own commands, files and answers); only what the trouble consists of is added. The steps of a loop follow each other
 * at three speeds: one after the other, or with one or two of the session's own looks in between.
 */

import type { RunStep } from "./runs.ts";
import { generator } from "./score.ts";
import type { Task } from "./sessions.ts";

export const KINDS = [
  "literal repeats",
  "variants, same answer",
  "edit and revert",
  "same error, other commands",
  "a tool that is gone",
  "empty search, new words",
  "test fails after each edit",
  "waits for what never comes",
] as const;
export type Kind = (typeof KINDS)[number];
export const SPEEDS = [1, 2, 3] as const;

export interface Injected {
  kind: Kind;
  speed: number;
  /** The healthy stretch as it was, and with the trouble in it. */
  host: Task;
  task: Task;
  /** The steps of the trouble: first and last. */
  from: number;
  to: number;
}

/** Steps of a loop: longer than any rule should need. */
const LOOP = 16;
/** So much of the task is before, and so much comes after. */
const BEFORE = 12;
const AFTER = 12;
const SECONDS = { 1: 3, 2: 30, 3: 120 } as const;

type Part = Pick<RunStep, "tool" | "args" | "obs" | "err">;
type Make = (at: number, random: () => number) => Part;

/** One injection of each kind and speed for a task that is long enough; none where it has nothing that the kind is made of. */
export function injections(task: Task, seed: number): Injected[] {
  const random = generator(seed);
  const { steps } = task;
  if (steps.length < BEFORE + AFTER) return [];
  const at = BEFORE + Math.floor(random() * (steps.length - BEFORE - AFTER + 1));
  const before = steps.slice(0, at);
  const looks = otherLooks(task);
  return KINDS.flatMap((kind) => {
    const make = maker(kind, before, random);
    if (make === null) return [];
    const speeds = SPEEDS.filter((speed) => looks.length >= (LOOP - 1) * (speed - 1));
    return speeds.map((speed) => inject({ kind, speed, task, at, looks, make, random }));
  });
}

/** What the agent looked at in other tasks of the session, each once. */
function otherLooks({ run, steps }: Task): RunStep[] {
  const known = new Set(steps.map(({ args }) => args));
  return run.steps.filter(({ tool, args, err }) => {
    if (!["Read", "Grep", "Glob"].includes(tool) || err === true || known.has(args)) return false;
    known.add(args);
    return true;
  });
}

function inject(of: {
  kind: Kind;
  speed: 1 | 2 | 3;
  task: Task;
  at: number;
  looks: readonly RunStep[];
  make: Make;
  random: () => number;
}): Injected {
  const { kind, speed, task, at, looks, make, random } = of;
  const trouble: RunStep[] = [];
  let t = task.steps[at - 1]?.t ?? 0;
  for (let n = 0; n < LOOP; n++) {
    t += SECONDS[speed];
    trouble.push({ i: -1, t, thought: null, ...make(n, random) });
    for (let other = 1; other < speed && n < LOOP - 1; other++) {
      const look = looks[n * (speed - 1) + other - 1];
      t += SECONDS[speed];
      if (look !== undefined) trouble.push({ ...look, t });
    }
  }
  const steps = [...task.steps.slice(0, at), ...trouble, ...task.steps.slice(at, at + AFTER)];
  const host = { ...task, steps: task.steps.slice(0, at + AFTER) };
  return { kind, speed, host, task: { ...task, steps }, from: at, to: at + trouble.length - 1 };
}

function maker(kind: Kind, before: readonly RunStep[], random: () => number): Make | null {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const file = fileOf(before);
  switch (kind) {
    case "literal repeats": {
      const step = before.findLast(({ tool, obs, err }) => LOOKING.includes(tool) && !err && (obs ?? "").length > 20);
      return step === undefined ? null : () => step;
    }
    case "variants, same answer": {
      const bash = before.findLast(({ tool, obs, err }) => tool === "Bash" && !err && (obs ?? "").trim() !== "");
      const command = bash && fields(bash.args)["command"];
      if (bash === undefined || typeof command !== "string") return null;
      return (n) => ({ ...bash, args: json({ command: VARIANTS[n % VARIANTS.length]?.(command, n) }) });
    }
    case "edit and revert": {
      const [one, two] = ["	return nil", '	return fmt.Errorf("not found: %w", err)'];
      return (n) => {
        const [old_string, new_string] = n % 2 === 0 ? [one, two] : [two, one];
        const args = json({ replace_all: false, file_path: file, old_string, new_string });
        return { tool: "Edit", args, obs: `The file ${file} has been updated successfully.`, err: false };
      };
    }
    case "same error, other commands": {
      const error = pick(ERRORS);
      return (n) => ({
        tool: "Bash",
        args: json({ command: COMMANDS[n % COMMANDS.length] }),
        obs: error(n),
        err: true,
      });
    }
    case "a tool that is gone":
      return pick(GONE)(file);
    case "empty search, new words":
      return (n) => ({
        tool: "Grep",
        args: json({ pattern: `${WORDS[n % WORDS.length]}${n}`, path: file }),
        obs: pick(["No files found", "No matches found"]),
        err: false,
      });
    case "test fails after each edit": {
      const command = pick([
        "go test ./... 2>&1 | tail -20",
        "npm test",
        "cargo test parser",
        "pytest -q tests/test_load.py",
      ]);
      return (n, next) =>
        n % 2 === 0
          ? {
              tool: "Edit",
              args: json({
                file_path: file,
                old_string: `try ${n}`,
                new_string: `try ${n + 2} of ${WORDS[n % WORDS.length]}`,
              }),
              obs: `The file ${file} has been updated successfully.`,
              err: false,
            }
          : { tool: "Bash", args: json({ command }), obs: failing(next), err: true };
    }
    case "waits for what never comes":
      return (n) => ({
        tool: "Bash",
        args: json({ command: "sleep 30 && gh run view 2718 --json status" }),
        obs: `{"status":"queued","at":"2026-02-08T11:${10 + n}:51Z"}`,
        err: false,
      });
  }
}

const LOOKING: readonly string[] = ["Bash", "Read", "Grep", "Glob"];
const VARIANTS: readonly ((command: string, n: number) => string)[] = [
  (command) => command,
  (command) => `${command} 2>&1`,
  (command) => `${command} 2>&1 | tail -20`,
  (command) => `(${command})`,
  (command) => `${command} | cat`,
  (command) => `cd . && ${command}`,
  (command, n) => `${command} | head -${50 + n}`,
  (command) => `${command} 2>/dev/null`,
  (command) => `time ${command}`,
];
const COMMANDS: readonly string[] = [
  "npm run dev",
  "node server.js",
  "docker compose up -d",
  "make serve",
  "npx vite --port 3000",
  "git commit -m wip",
  "go run ./cmd/server",
  "./scripts/start.sh",
];
const ERRORS: readonly ((n: number) => string)[] = [
  (n) => `starting (pid ${4000 + n})\nError: listen EADDRINUSE: address already in use :::3000`,
  () => "fatal: Unable to create '/work/app/.git/index.lock': File exists.",
  (n) => `took ${n}.${n}s\npermission denied while trying to connect to the Docker daemon socket`,
  () => "error: could not write config file: Read-only file system",
];
const GONE: readonly ((file: string) => Make)[] = [
  (path) => (n) => ({
    tool: n % 3 === 2 ? "Glob" : "Grep",
    args: json({ pattern: `${WORDS[n % WORDS.length]}`, path }),
    obs: "ENOENT: no such file or directory, posix_spawn '/opt/tools/claude-code/2.1.36/claude'",
    err: true,
  }),
  (path) => (n) => ({
    tool: "Bash",
    args: json({ command: `golangci-lint run ${n % 2 ? "./..." : path} --timeout ${n}m` }),
    obs: "Exit code 127\n/bin/bash: line 1: golangci-lint: command not found",
    err: true,
  }),
  () => (n) => ({
    tool: "mcp__linear__list_issues",
    args: json({ query: WORDS[n % WORDS.length] }),
    obs: "<tool_use_error>Error: No such tool available: mcp__linear__list_issues</tool_use_error>",
    err: true,
  }),
];
const WORDS: readonly string[] = [
  "checkpointStore",
  "resolveHead",
  "pushPolicy",
  "flushQueue",
  "legacyIndex",
  "tokenBudget",
  "shadowBranch",
  "mergeDriver",
  "hookRunner",
];

function failing(random: () => number): string {
  const took = (random() * 2).toFixed(3);
  return `--- FAIL: TestLoadKeepsOrder (${took}s)\n    load_test.go:41: got [b a], want [a b]\nFAIL\nFAIL\tgithub.com/acme/app/load\t${took}s\nFAIL`;
}

function fileOf(steps: readonly RunStep[]): string {
  for (const { args } of steps.toReversed()) {
    const { file_path: path } = fields(args);
    if (typeof path === "string") return path;
  }
  return "/work/app/load.go";
}

function fields(args: string): Record<string, unknown> {
  try {
    return JSON.parse(args) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function json(value: unknown): string {
  return JSON.stringify(value);
}
