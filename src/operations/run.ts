import { z } from "zod";
import { checkStart } from "../agent/start.ts";
import { MidwatchError } from "../core/errors.ts";
import { parseAgentId, parseTaskId } from "../core/ids.ts";
import type { ShowRecord } from "../core/types.ts";
import type { RunRecord } from "../fleet.ts";
import { configFlag } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Context, type Operation, operation } from "./operation.ts";
import { state } from "./render.ts";

const input = z.strictObject({
  prompt: z.string().describe("What the agent should do (drivers of agent CLIs)").meta({ value: "PROMPT" }).optional(),
  command: z.array(z.string()).describe("The command and its arguments, behind --; no shell is involved").default([]),
  task: z.string().describe("Task to work on; without it a new one is made").meta({ value: "TASK" }).optional(),
  role: z.string().describe("What the agent is for; becomes part of its id").optional(),
  name: z.string().describe("Name of the agent; becomes part of its id").optional(),
  parent: z
    .string()
    .describe("Agent that starts this one; inside a run it is that run's agent")
    .meta({ value: "ID" })
    .optional(),
  cwd: z.string().describe("Working folder of the agent").meta({ value: "DIR" }).optional(),
  stdin: z
    .string()
    .describe("File or FIFO the agent reads from; nothing by default")
    .meta({ value: "FILE" })
    .optional(),
  wait: z
    .boolean()
    .describe("Wait until it ends; exit 0 only if it completed. Ctrl-C ends the waiting, not the agent")
    .default(false),
  fallback_dir: z
    .string()
    .describe("Workspace to use for this run when the usual one cannot be written")
    .meta({ value: "DIR" })
    .optional(),
  grace: configFlag("grace"),
  output_limit: configFlag("output_limit"),
  sync: configFlag("sync"),
  tier: configFlag("tier"),
  disk_warn: configFlag("disk_warn"),
  disk_refuse: configFlag("disk_refuse"),
  disk_floor: configFlag("disk_floor"),
  disk_policy: configFlag("disk_policy"),
  max_agents: configFlag("max_agents"),
});

type Item = RunRecord | ShowRecord;

export const run: Operation = operation({
  name: "run",
  summary: "Start an agent under a keeper and return at once",
  details:
    "The agent's output goes to a file, not through a pipe: nothing is lost when midwatch, the terminal or the login ends. The agent goes on until it ends by itself or is stopped.",
  positionals: ["prompt"],
  passthrough: "command",
  input,
  changes: true,
  examples: [
    "midwatch run -- make test",
    "midwatch run --name nightly --cwd ../app -- npm run e2e",
    "midwatch run --wait -- ./build.sh",
  ],
  run: (context, given) => begin(context, given),
  render: (item, options) =>
    "runs" in item
      ? `${item.agent}  ${state(item, options)}`
      : item.error
        ? `${item.agent}  ${item.phase}: ${item.error.message}`
        : `${item.agent}  running (pid ${item.pid}, ${item.guarantee})\n  log  ${item.log}`,
  next: (item) => ("runs" in item ? `midwatch logs ${item.agent}` : `midwatch logs -f ${item.agent}`),
  exitCode: (item) =>
    "runs" in item ? (item.outcome === "completed" ? 0 : 1) : item.phase === "launch_failed" ? 1 : 0,
});

async function* begin(context: Context, given: z.output<typeof input>): AsyncGenerator<Item> {
  const { prompt, command, task, role, name, parent, cwd, stdin, wait, fallback_dir, ...config } = given;
  if (command.length === 0) {
    throw new MidwatchError(
      "USAGE",
      prompt === undefined
        ? "There is nothing to run."
        : "A prompt needs the driver of an agent CLI, and this version has none yet.",
      {
        hint: "Write the command behind --: midwatch run -- claude -p 'fix the tests'",
      },
    );
  }
  if (prompt !== undefined)
    throw new MidwatchError("USAGE", "Give a prompt or a command, not both.", {
      hint: "Everything behind -- is the command.",
    });
  const ids = {
    task: task === undefined ? undefined : parseTaskId(task),
    parent: parent === undefined ? undefined : parseAgentId(parent),
  };
  checkStart({ argv: command, cwd, name, role }, context.cwd, context.env as NodeJS.ProcessEnv);
  const workspace = workspaceOf(context, { make: true, config, fallbackDir: fallback_dir });
  if (workspace.usedFallback)
    context.notice(`the usual workspace cannot be written; using ${workspace.root} for this run`);
  const started = await workspace.run({ argv: command, ...ids, role, name, cwd, stdin });
  if (started.warning) context.notice(started.warning);
  yield started;
  if (wait && started.phase !== "launch_failed") {
    const [ended] = await workspace.wait([started.agent], { signal: context.signal });
    if (ended && !context.signal.aborted) yield ended;
  }
}
