/**
 * Codex: `codex exec --json`, the prompt from stdin by `-`. Its `error` lines are not the end ("Reconnecting... 3/5"); only
 * `turn.failed` is. Its token figures count the whole thread: the run that a resumed one follows has to be subtracted.
 */
import { MidwatchError } from "../core/errors.ts";
import type { Tokens } from "../core/types.ts";
import { codexRollouts } from "./codex-rollout.ts";
import type {
  Activity,
  Driver,
  Launch,
  LaunchRequest,
  McpServer,
  Permission,
  SessionUse,
  StreamReader,
  StreamResult,
} from "./driver.ts";
import { contentText, countOf, type Fields, fieldsOf, listOf, textOf } from "./fields.ts";
import { judgeStream } from "./judge.ts";
import { pathsOf } from "./paths.ts";
import { checkNames, refuseInteractive } from "./refuse.ts";
import { note, sizeOf, streamReader, subtractTokens } from "./stream.ts";
import { trouble, troubleOf } from "./trouble.ts";

const PERMISSIONS: Readonly<Record<Permission, readonly string[]>> = {
  ask: ["--sandbox", "read-only"],
  edit: ["--sandbox", "workspace-write"],
  all: ["--dangerously-bypass-approvals-and-sandbox"],
  plan: ["--sandbox", "read-only"],
};

const TOOLS: ReadonlySet<unknown> = new Set([
  "command_execution",
  "file_change",
  "mcp_tool_call",
  "web_search",
  "collab_tool_call",
]);
const NOT_APPROVED = /requires approval|approval policy|not approved|rejected by user/i;

export const codex: Driver = {
  name: "codex",
  program: "codex",
  install: "npm install -g @openai/codex",
  json: true,
  mcp: true,
  knownVersions: ["0.166"],
  launch,
  reader: codexReader,
  aside: codexRollouts,
  judge: (ending) => judgeStream(ending, { 101: "it crashed" }),
};

/** The page reads with it too; on its own, so that nothing of a launch comes along. */
export function codexReader(before: SessionUse | null = null): StreamReader {
  const open = new Set<string>();
  let answer: string | null = null;
  return streamReader((line, result, atMs) => {
    switch (line["type"]) {
      case "thread.started":
        return [{ kind: "started", session: textOf(line["thread_id"]), model: null }];
      case "turn.started":
        result.turns++;
        result.finished = null;
        return [note("turn.started")];
      case "item.started":
      case "item.updated":
      case "item.completed": {
        const item = fieldsOf(line["item"]);
        const done = line["type"] === "item.completed";
        if (done && item["type"] === "agent_message") answer = textOf(item["text"]);
        if (done) result.subagents += spawned(item);
        return readItem(item, done, open, atMs);
      }
      case "turn.completed":
        return turnCompleted(fieldsOf(line["usage"]), result, before, answer);
      case "turn.failed": {
        const text = textOf(fieldsOf(line["error"])["message"]) ?? "the turn failed";
        return [trouble({ text, fatal: true, atMs }), { kind: "finished", ok: false, why: text, text: null }];
      }
      case "error":
        return [trouble({ text: textOf(line["message"]) ?? "unknown error", fatal: false, atMs })];
      default:
        return [note(line["type"])];
    }
  }, before);
}

function launch(request: LaunchRequest): Launch {
  const { mcp, resume, model } = request;
  refuseInteractive("codex", request);
  checkNames(request);
  const argv = ["codex", "exec", "--json", "--skip-git-repo-check", ...PERMISSIONS[request.permission]];
  if (request.permission === "edit") for (const folder of request.writable) argv.push("--add-dir", folder);
  argv.push("-c", "check_for_update_on_startup=false");
  if (model !== null) argv.push("--model", model);
  const env: Record<string, string> = {};
  for (const server of mcp) argv.push(...serverOptions(server, request.env, env));
  // Options of `exec` must stand before `resume`; `--` keeps a list option of the caller's from swallowing the `-`.
  argv.push(...request.args, ...(resume === null ? ["--", "-"] : ["resume", resume, "-"]));
  return { argv, env, stdin: request.prompt, files: [], session: resume };
}

/** Every user of the machine can read argv: a server's secrets go through the environment, argv only names the variables. */
function serverOptions({ name, at }: McpServer, outer: LaunchRequest["env"], env: Record<string, string>): string[] {
  const option = (key: string, value: unknown): string[] => [
    "-c",
    `mcp_servers.${name}.${key}=${JSON.stringify(value)}`,
  ];
  const give = (variable: string, value: string): void => {
    const other = env[variable] ?? outer[variable];
    if (other !== undefined && other !== value) {
      throw new MidwatchError("USAGE", `Codex cannot give the MCP server ${name} its own value of ${variable}.`, {
        hint: `${variable} has another value in the agent's environment or for another server: use another name.`,
      });
    }
    env[variable] = value;
  };
  // Required: a server that does not start fails the run, instead of a run without its tools. Approved: the caller gave it for use.
  const always = [
    ...option("required", true),
    ...option("default_tools_approval_mode", "approve"),
    // A busy machine may take longer than its 10 seconds to start a server.
    ...option("startup_timeout_sec", 60),
    ...option("tool_timeout_sec", 120),
  ];
  if ("url" in at) {
    const variable = `MCP_BEARER_${name.toUpperCase().replaceAll("-", "_")}`;
    give(variable, at.bearer);
    return [...option("url", at.url), ...option("bearer_token_env_var", variable), ...always];
  }
  for (const [variable, value] of Object.entries(at.env)) give(variable, value);
  // Codex gives a server a few variables of its own environment and those that are named here. Values stay where they are.
  const variables = [...new Set([...Object.keys(at.env), ...(at.inherits ? inherited(outer) : [])])];
  return [
    ...option("command", at.command),
    ...option("args", at.args),
    ...(variables.length > 0 ? option("env_vars", variables) : []),
    ...always,
  ];
}

/** Not what marks the run itself: a server that acts for an agent does not get that from a variable. */
function inherited(outer: LaunchRequest["env"]): string[] {
  return Object.keys(outer).filter((name) => /^[A-Za-z_]\w*$/.test(name) && name !== "MIDWATCH_CAPABILITY");
}

function readItem(item: Fields, done: boolean, open: Set<string>, atMs: number | null): Activity[] {
  const type = item["type"];
  if (TOOLS.has(type)) return readTool(item, done, open);
  const text = textOf(item["text"]) ?? textOf(item["message"]) ?? "";
  if (done && type === "agent_message") return [{ kind: "said", text }];
  if (done && type === "reasoning") return [{ kind: "thought", text }];
  // Warnings of every sort come as error items; only those that speak of the API are trouble.
  if (done && type === "error" && troubleOf(text, null) !== null) return [trouble({ text, fatal: false, atMs })];
  return [note("item", type)];
}

function readTool(item: Fields, done: boolean, open: Set<string>): Activity[] {
  const id = textOf(item["id"]);
  const activities: Activity[] = [];
  if (id === null || !open.has(id)) {
    if (id !== null) open.add(id);
    const input = toolInput(item);
    activities.push({ kind: "tool", id, name: toolName(item), input, paths: pathsOf(input) });
  }
  if (!done) return activities.length > 0 ? activities : [note("item", item["type"])];
  if (id !== null) open.delete(id);
  const error = textOf(fieldsOf(item["error"])["message"]);
  const output = textOf(item["aggregated_output"]) ?? contentText(fieldsOf(item["result"])["content"]);
  const ok =
    item["status"] !== "failed" && item["status"] !== "declined" && error === null && (item["exit_code"] ?? 0) === 0;
  if (item["status"] === "declined" || NOT_APPROVED.test(error ?? "")) {
    activities.push({ kind: "permission", tool: toolName(item), denied: true, input: toolInput(item) });
  }
  return [...activities, { kind: "tool_result", id, ok, text: error ?? output }];
}

/** How many sub-agents a call started. Each is a thread of its own, whose tokens no line of the stream tells. */
function spawned(item: Fields): number {
  if (item["type"] !== "collab_tool_call" || item["tool"] !== "spawn_agent") return 0;
  return listOf(item["receiver_thread_ids"]).length;
}

function toolName(item: Fields): string {
  if (item["type"] === "mcp_tool_call") return `mcp__${textOf(item["server"]) ?? ""}__${textOf(item["tool"]) ?? ""}`;
  return textOf(item["type"]) ?? "unknown";
}

function toolInput(item: Fields): unknown {
  switch (item["type"]) {
    case "command_execution":
      return { command: item["command"] };
    case "file_change":
      return { changes: item["changes"] };
    case "mcp_tool_call":
      return item["arguments"];
    case "web_search":
      return { query: item["query"] };
    default:
      return { tool: item["tool"], prompt: item["prompt"] };
  }
}

function turnCompleted(
  usage: Fields,
  result: StreamResult,
  before: SessionUse | null,
  answer: string | null,
): Activity[] {
  const cached = countOf(usage["cached_input_tokens"]);
  const total: Tokens = {
    // Codex counts what came from the cache as input too.
    input: Math.max(0, countOf(usage["input_tokens"]) - cached),
    output: countOf(usage["output_tokens"]),
    cache_read: cached,
    cache_write: countOf(usage["cache_write_input_tokens"]),
  };
  result.session_use = { tokens: total, cost_usd: null };
  // A total below what was there before cannot include it: then it is this run's alone.
  const includes = before !== null && sizeOf(total) >= sizeOf(before.tokens);
  const tokens = includes ? subtractTokens(total, before.tokens) : total;
  return [
    { kind: "usage", tokens, cost_usd: null, model: null },
    { kind: "finished", ok: true, why: null, text: answer },
  ];
}
