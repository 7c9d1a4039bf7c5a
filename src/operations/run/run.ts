import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ConfigInput } from "../../core/config/config.ts";
import { CONFIG_FIELDS } from "../../core/config/config-fields.ts";
import { MidwatchError } from "../../core/errors.ts";
import { parseAgentId, parseTaskId, quote } from "../../core/ids.ts";
import type { ShowRecord } from "../../core/types.ts";
import { checkRun, type RunRecord } from "../../fleet/workspace.ts";
import type { StartOptions } from "../../run/launch-plan.ts";
import { DRIVER_NAMES, presentDriver } from "../../workspace/find-driver.ts";
import { configFlag } from "../fields.ts";
import { type Context, type Operation, type Output, operation, usage, workspaceOf, z } from "../operation.ts";
import { state } from "../render.ts";
import { assertNamesFiles } from "../rights.ts";
import { promptOf } from "../text-input.ts";
import { whileLive } from "./live.ts";

const input = z.strictObject({
  prompt: z
    .string()
    .describe("What the agent should do (for the driver of an agent CLI); `-` reads it from the input")
    .meta({ value: "PROMPT" })
    .optional(),
  prompt_file: z.string().describe("Read the prompt from this file; of up to 1 MiB").meta({ value: "FILE" }).optional(),
  command: z
    .array(z.string())
    .describe(
      "The command and its arguments, behind --; with a prompt, further arguments for the CLI. No shell is involved",
    )
    .default([]),
  driver: z
    .string()
    .describe(
      `How it is run: ${DRIVER_NAMES.join(", ")}, or one of midwatch.config.json (by default the CLI that is installed)`,
    )
    .meta({ value: "NAME", suggest: DRIVER_NAMES })
    .optional(),
  model: z.string().describe("Model that the CLI should use").optional(),
  permission: z
    .enum(["ask", "edit", "all", "plan"])
    .describe("What the agent may do without asking: as the CLI has it, edit files, everything, or only plan (ask)")
    .optional(),
  task: z.string().describe("Task to work on; without it a new one is made").meta({ value: "TASK" }).optional(),
  role: z.string().describe("What the agent is for; becomes part of its id").optional(),
  name: z.string().describe("Name of the agent; becomes part of its id").optional(),
  parent: z
    .string()
    .describe("Agent that starts this one; inside a run it is that run's agent")
    .meta({ value: "ID" })
    .optional(),
  label: z.array(z.string()).describe("A word to find it by").meta({ value: "WORD" }).default([]),
  cwd: z.string().describe("Working folder of the agent").meta({ value: "DIR" }).optional(),
  stdin: z
    .string()
    .describe("File or FIFO that a command reads from; nothing by default. An agent CLI reads its prompt there")
    .meta({ value: "FILE" })
    .optional(),
  env_file: z.string().describe("NAME=value lines for the agent's environment").meta({ value: "FILE" }).optional(),
  host: z.string().describe("A host of the fleet to run it on (docs/scale.md)").meta({ value: "HOST" }).optional(),
  on: z
    .array(z.string())
    .describe("A host of the fleet with this label, such as gpu or zone=eu; of several the least busy")
    .meta({ value: "LABEL" })
    .default([]),
  anywhere: z.boolean().describe("The least busy host of the fleet").default(false),
  worktree: z
    .boolean()
    .describe("Give it a git worktree and branch of its own, from the commit that its working folder has checked out")
    .default(false),
  branch: z
    .string()
    .min(1)
    .describe("With --worktree (and implying it): the name of the new branch (midwatch/<agent>)")
    .meta({ value: "NAME" })
    .optional(),
  each: z
    .string()
    .describe("A prompt a line: an agent for each (`-` reads them from the input)")
    .meta({ value: "FILE" })
    .optional(),
  interactive: z
    .boolean()
    .describe("Keep its input open for `midwatch send`; the prompt is the first message")
    .default(false),
  queue: z
    .boolean()
    .describe("Wait for room under --max-running; `midwatch up`, any `midwatch wait` or the companion starts it")
    .default(false),
  wait: z
    .boolean()
    .describe("Wait until it ends; exit 0 only if it completed. Ctrl-C ends the waiting, not the agent")
    .default(false),
  journal: z.enum(["turns"]).describe("Log what the agent says to the journal, each turn as it ends").optional(),
  mcp: z
    .boolean()
    .describe("Give it midwatch's MCP tools, where its CLI takes them; --no-mcp leaves them out")
    .default(true),
  fallback_dir: z
    .string()
    .describe("Workspace to use for this run when the usual one cannot be written")
    .meta({ value: "DIR" })
    .optional(),
  limit_wall: configFlag("wall_limit"),
  limit_idle: configFlag("idle_limit"),
  limit_tokens: configFlag("token_limit"),
  limit_cost: configFlag("cost_limit"),
  limit_policy: configFlag("limit_policy"),
  grace: configFlag("grace"),
  output_limit: configFlag("output_limit"),
  sync: configFlag("sync"),
  tier: configFlag("tier"),
  disk_warn: configFlag("disk_warn"),
  disk_refuse: configFlag("disk_refuse"),
  disk_floor: configFlag("disk_floor"),
  disk_policy: configFlag("disk_policy"),
  max_agents: configFlag("max_agents"),
  max_running: configFlag("max_running"),
});

type Given = Output<typeof input>;
type Item = RunRecord | ShowRecord;

export const run: Operation = operation({
  name: "run",
  summary: "Start an agent under a keeper and return at once",
  details:
    "Give a prompt for an agent CLI, or any command behind --. The agent's output goes to a file, not through a pipe: nothing is lost when midwatch, the terminal or the login ends. The agent goes on until it ends by itself or is stopped. A prompt reaches the CLI by its input, never through its arguments, with the task round it. With --worktree it works in .agent-workspace/worktrees/<agent> and not in your files; what you have not committed is not there (worktree_copy and worktree_setup in midwatch.config.json bring files and packages). `midwatch diff ID` shows what it changed.",
  positionals: ["prompt"],
  passthrough: "command",
  input,
  changes: true,
  examples: [
    'midwatch run "fix the failing tests"',
    'midwatch run --driver codex --permission edit "port the parser"',
    "midwatch run -- make test",
    "midwatch run --each prompts.txt --queue --wait --max-running 4",
    "midwatch run --wait -- ./build.sh",
    'midwatch run --worktree "port the parser"',
    'midwatch run --interactive "wait for my messages"',
    "midwatch run --prompt-file plan.md",
    "git diff | midwatch run -",
  ],
  run: (context, given) => begin(context, given),
  render: (item, options) =>
    "runs" in item
      ? `${item.agent}  ${state(item, options)}`
      : item.error
        ? `${item.agent}  ${item.phase}: ${item.error.message}`
        : item.pid === null
          ? `${item.agent}  queued${waiting(item)}`
          : `${item.agent}  running (pid ${item.pid}, ${item.guarantee})\n  log  ${item.log}`,
  next: (item) =>
    "runs" in item
      ? `midwatch logs ${item.agent}`
      : item.error
        ? `midwatch show ${item.agent}`
        : item.pid === null
          ? item.wake?.on === "budget"
            ? "midwatch budget"
            : "midwatch up"
          : `midwatch logs -f ${item.agent}`,
  exitCode: (item) =>
    "runs" in item ? (item.outcome === "completed" ? 0 : 1) : item.phase === "launch_failed" ? 1 : 0,
});

/** Of one that was to start at once, and was not. */
export function waiting({ wake }: Pick<RunRecord, "wake">): string {
  return wake === undefined ? "" : `\n  ${wake.why}`;
}

async function* begin(context: Context, given: Given): AsyncGenerator<Item> {
  const { fallback_dir, wait } = given;
  const config = {
    ...(Object.fromEntries(Object.entries(given).filter(([name]) => name in CONFIG_FIELDS)) as ConfigInput),
    wall_limit: given.limit_wall,
    idle_limit: given.limit_idle,
    token_limit: given.limit_tokens,
    cost_limit: given.limit_cost,
  };
  if ([given.prompt_file, given.each, fallback_dir].some((file) => file !== undefined && file !== "-"))
    assertNamesFiles(context);
  const prompts = given.each === undefined ? [await promptOf(context, given)] : readPrompts(context, given);
  const all = prompts.map((prompt) => optionsOf(context, given, prompt));
  for (const options of all) await checkRun(options, context);
  const workspace = workspaceOf(context, { make: true, config, fallbackDir: fallback_dir });
  if (workspace.usedFallback)
    context.notice(`the usual workspace cannot be written; using ${workspace.root} for this run`);
  const started: RunRecord[] = [];
  for (const options of all) {
    const one = await workspace.runs.start(options);
    if (one.warning) context.notice(one.warning);
    started.push(one);
    yield one;
    if (context.signal.aborted) return;
  }
  const agents = started.filter(({ phase }) => phase !== "launch_failed").map(({ agent }) => agent);
  if (!wait || agents.length === 0) return;
  const waiting = (): Promise<ShowRecord[]> => workspace.runs.wait(agents, { signal: context.signal });
  const ended = await whileLive(context, workspace, agents, waiting);
  if (!context.signal.aborted) yield* ended;
}

function optionsOf(context: Context, given: Given, prompt: string | undefined): StartOptions {
  const { command, task, role, name, parent, cwd, stdin, model, permission, label, env_file, queue, interactive } =
    given;
  if (given.branch !== undefined && given.each !== undefined)
    throw usage(
      "--branch names the branch of one agent; --each starts several.",
      "Use --worktree: each agent gets a branch of its own.",
    );
  if (prompt?.trim() === "")
    // Most likely a variable that is not set, and an agent CLI that is asked for nothing costs money all the same.
    throw usage("The prompt is empty.", 'midwatch run "what it should do"');
  const driver =
    given.driver ??
    (prompt === undefined || (interactive && command.length > 0)
      ? "command"
      : command.length > 0
        ? both()
        : presentDriver(context.env));
  if (prompt === undefined && command.length === 0)
    throw usage("There is nothing to run.", "Give a prompt, or a command behind --: midwatch run -- make test");
  if (driver === "command" && prompt !== undefined && !(interactive && command.length > 0)) both();
  if (driver !== "command" && prompt === undefined)
    throw usage(`The driver ${driver} needs a prompt.`, `midwatch run --driver ${driver} "what it should do"`);
  return {
    driver,
    ...(driver === "command" ? { argv: command } : { args: command }),
    prompt,
    task: task === undefined ? undefined : parseTaskId(task),
    parent: parent === undefined ? undefined : parseAgentId(parent),
    ...{ role, name, cwd, stdin, model, permission, labels: label, envFile: env_file, queue, interactive },
    ...{ worktree: given.worktree, branch: given.branch, journal: given.journal, mcp: given.mcp },
  };
}

function both(): never {
  throw usage(
    "Give a prompt or a command, not both.",
    "Everything behind -- is the command; with --driver it is further arguments for that CLI.",
  );
}

/** The lines of --each that say something. */
function readPrompts(context: Context, { each, prompt, prompt_file }: Given): string[] {
  if (prompt !== undefined || prompt_file !== undefined)
    throw usage("Give one prompt or --each FILE, not both.", "Put the prompt into the file.");
  if (each === "-" && context.door !== "cli")
    throw usage("There is no input to read the prompts from.", "Name a file.");
  const file = each === "-" ? 0 : resolve(context.cwd, each as string);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new MidwatchError("BAD_PATH", `The file of prompts ${quote(each as string)} cannot be read.`, {
      hint: "Check the path; a prompt a line.",
      cause: error,
    });
  }
  const prompts = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (prompts.length > 0) return prompts;
  throw usage(`There is no prompt in ${quote(each as string)}.`, "Write a prompt a line.");
}
