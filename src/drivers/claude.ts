/**
 * Claude Code: `claude -p` with stream-json. Lines repeat a message's usage for each content block and carry its first value only,
 * so before the end tokens are an estimate from below; the `result` line has the true figures, sub-agents included.
 */
import { join } from "node:path";
import type { DeferredCall } from "../core/types.ts";
import { claudeTranscripts } from "./claude-transcript.ts";
import { claudeUsage, type UsageMeter } from "./claude-usage.ts";
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
import { contentText, type Fields, fieldsOf, listOf, numberOf, textOf } from "./fields.ts";
import { judgeStream } from "./judge.ts";
import { pathsOf } from "./paths.ts";
import { checkNames } from "./refuse.ts";
import { epochTime } from "./resets.ts";
import { note, streamReader } from "./stream.ts";
import { trouble, troubleOf } from "./trouble.ts";

const PERMISSIONS: Readonly<Record<Permission, readonly string[]>> = {
  ask: ["--permission-mode", "default"],
  edit: ["--permission-mode", "acceptEdits"],
  all: ["--dangerously-skip-permissions"],
  plan: ["--permission-mode", "plan"],
};

const MCP_FILE = "mcp.json";
const BUDGET = "--max-budget-usd";

/** Tools that start a sub-agent; the result counts them again, those that sub-agents started among them. */
const SPAWNS: ReadonlySet<unknown> = new Set(["Agent", "Task"]);

/** Results that mean a limit of the CLI's own. */
const ENDS: Readonly<Record<string, string>> = {
  error_max_turns: "it reached its limit of turns",
  error_max_budget_usd: "it reached its budget",
  error_max_structured_output_retries: "its answer never fitted the schema",
};

export const claude: Driver = {
  name: "claude",
  program: "claude",
  install: "npm install -g @anthropic-ai/claude-code",
  json: true,
  mcp: true,
  knownVersions: ["2.1"],
  launch,
  message,
  echoes: true,
  reader: claudeReader,
  aside: claudeTranscripts,
  judge: (ending) => judgeStream(ending, { 143: "SIGTERM" }),
};

/** The page reads with it too; on its own, so that nothing of a launch comes along. */
export function claudeReader(before: SessionUse | null = null): StreamReader {
  const meter = claudeUsage(before);
  let denied = 0;
  return streamReader((line, result, atMs) => {
    switch (line["type"]) {
      case "system":
        if (line["subtype"] === "permission_denied") denied++;
        return system(line, result, atMs);
      case "assistant":
        return assistant(line, result, meter, atMs);
      case "user":
        return user(line);
      case "control_request":
        return asked(line);
      case "rate_limit_event":
        return rateLimit(line, atMs);
      case "result": {
        // Newer versions tell a denial at once, all list them at the end.
        const denials = listOf(line["permission_denials"]).map(fieldsOf);
        const late = denials.slice(denied);
        denied += late.length;
        // What is told at once does not say what was called.
        const [first] = denials;
        if (first !== undefined) result.denial = { tool: toolOf(first), input: first["tool_input"] ?? null };
        return [...late.map(deniedTool), ...finish(line, result, meter, atMs)];
      }
      default:
        return [note(line["type"], line["subtype"])];
    }
  }, before);
}

function launch(request: LaunchRequest): Launch {
  const { mcp, interactive, resume, session, model, permission, prompt, budget_usd, args } = request;
  checkNames(request);
  const argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", ...PERMISSIONS[permission]];
  if (interactive) argv.push("--input-format", "stream-json", "--replay-user-messages");
  argv.push(...(resume === null ? ["--session-id", session] : ["--resume", resume]));
  if (model !== null) argv.push("--model", model);
  // Its own count is exact, and needs nobody who watches. It is of this run alone, also when the session goes on.
  if (budget_usd !== null && !args.some((word) => word.startsWith(BUDGET))) argv.push(BUDGET, String(budget_usd));
  const env: Record<string, string> = { DISABLE_AUTOUPDATER: "1" };
  // As root it refuses to skip permissions unless it is told that this machine is a sandbox.
  if (permission === "all" && request.root) env["IS_SANDBOX"] = "1";
  if (mcp.length > 0) {
    // Beside the servers that the user has configured.
    argv.push(`--mcp-config=${join(request.folder, MCP_FILE)}`);
    argv.push(`--allowedTools=${mcp.map(({ name }) => `mcp__${name}`).join(",")}`);
    // Without these the first request goes out before a slow server's tools are there.
    env["MCP_CONNECTION_NONBLOCKING"] = "0";
    env["MCP_CONNECT_TIMEOUT_MS"] = "30000";
    for (const { name, at } of mcp) if ("url" in at) env[bearerVariable(name)] = at.bearer;
  }
  return {
    argv: [...argv, ...args],
    env,
    stdin: interactive ? message(prompt) : prompt,
    files: mcp.length > 0 ? [{ name: MCP_FILE, content: `${JSON.stringify({ mcpServers: servers(mcp) })}\n` }] : [],
    session: resume ?? session,
  };
}

/** Its tools are there from the first turn on, not behind a search. */
const ALWAYS = { alwaysLoad: true };

/** The file names the variable; the CLI puts in what the environment has. */
function bearerVariable(name: string): string {
  return `MCP_BEARER_${name.toUpperCase().replaceAll("-", "_")}`;
}

function servers(mcp: readonly McpServer[]): Record<string, unknown> {
  return Object.fromEntries(
    mcp.map(({ name, at }) => [
      name,
      "url" in at
        ? { type: "http", url: at.url, headers: { Authorization: `Bearer \${${bearerVariable(name)}}` }, ...ALWAYS }
        : { type: "stdio", command: at.command, args: at.args, env: at.env, ...ALWAYS },
    ]),
  );
}

function message(text: string): string {
  return `${JSON.stringify({ type: "user", message: { role: "user", content: text } })}\n`;
}

function system(line: Fields, result: StreamResult, atMs: number | null): Activity[] {
  switch (line["subtype"]) {
    case "init": {
      // In two-way use each message begins with one: what was finished goes on.
      result.finished = null;
      // It goes on without a server that it cannot reach: the only sign is here.
      const failed = listOf(line["mcp_servers"])
        .map(fieldsOf)
        .filter(({ status }) => status === "failed");
      const session = textOf(line["session_id"]);
      return [
        { kind: "started", session, model: textOf(line["model"]) },
        ...failed.map(({ name }) => note("mcp_failed", name)),
      ];
    }
    case "api_retry": {
      const attempt = `retry ${numberOf(line["attempt"]) ?? "?"} of ${numberOf(line["max_retries"]) ?? "?"}`;
      const status = numberOf(line["error_status"]);
      const text = `${textOf(line["error"]) ?? "unknown"} (${attempt})`;
      return [trouble({ text, status, otherwise: "network", fatal: false, atMs })];
    }
    case "permission_denied":
      return [deniedTool(line)];
    default:
      return [note("system", line["subtype"])];
  }
}

function deniedTool(fields: Fields): Activity {
  return { kind: "permission", tool: toolOf(fields), denied: true, input: fields["tool_input"] ?? null };
}

function toolOf(fields: Fields): string {
  return textOf(fields["tool_name"]) ?? "unknown";
}

function assistant(line: Fields, result: StreamResult, meter: UsageMeter, atMs: number | null): Activity[] {
  const body = fieldsOf(line["message"]);
  const blocks = listOf(body["content"]).map(fieldsOf);
  const error = textOf(line["error"]);
  if (error !== null) {
    const text = contentText(body["content"]) || error;
    return [trouble({ text, status: STATUSES[error] ?? null, otherwise: "api_error", fatal: true, atMs })];
  }
  result.finished = null;
  const activities = blocks.map(block);
  for (const { type, name } of blocks) if (type === "tool_use" && SPAWNS.has(name)) result.subagents++;
  const usage = meter.message(body, textOf(line["request_id"]));
  if (usage.fresh && line["parent_tool_use_id"] == null) result.turns++;
  const model = textOf(body["model"]);
  const { tokens, prompt } = usage;
  if (tokens !== null) activities.push({ kind: "usage", tokens, cost_usd: null, model, prompt });
  return activities;
}

/** The short error word tells the kind when the text for people does not. */
const STATUSES: Readonly<Record<string, number>> = { authentication_failed: 401, billing_error: 402, rate_limit: 429 };

function block(fields: Fields): Activity {
  switch (fields["type"]) {
    case "text":
      return { kind: "said", text: textOf(fields["text"]) ?? "" };
    case "thinking":
      return { kind: "thought", text: textOf(fields["thinking"]) ?? "" };
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use": {
      const input = fields["input"];
      const name = textOf(fields["name"]) ?? "unknown";
      return { kind: "tool", id: textOf(fields["id"]), name, input, paths: pathsOf(input) };
    }
    default:
      return note("assistant", fields["type"]);
  }
}

function user(line: Fields): Activity[] {
  // With `--replay-user-messages` the CLI repeats a message of ours once it has taken it up.
  const content = fieldsOf(line["message"])["content"];
  if (line["isReplay"] === true) return [{ kind: "note", name: "message_received", text: contentText(content) }];
  const results = listOf(content)
    .map(fieldsOf)
    .filter(({ type }) => type === "tool_result");
  if (results.length === 0) return [note("user")];
  return results.map((result) => ({
    kind: "tool_result",
    id: textOf(result["tool_use_id"]),
    ok: result["is_error"] !== true,
    text: contentText(result["content"]),
  }));
}

function asked(line: Fields): Activity[] {
  const request = fieldsOf(line["request"]);
  if (request["subtype"] !== "can_use_tool") return [note("control_request", request["subtype"])];
  return [{ kind: "permission", tool: textOf(request["tool_name"]) ?? "unknown", denied: false }];
}

function rateLimit(line: Fields, atMs: number | null): Activity[] {
  const info = fieldsOf(line["rate_limit_info"]);
  if (info["status"] !== "rejected") return [note("rate_limit_event", info["status"])];
  const text = `usage limit reached (${textOf(info["rateLimitType"]) ?? "unknown window"})`;
  return [trouble({ text, resetsAt: epochTime(numberOf(info["resetsAt"])), fatal: false, atMs })];
}

function finish(line: Fields, result: StreamResult, meter: UsageMeter, atMs: number | null): Activity[] {
  const subtype = textOf(line["subtype"]) ?? "unknown";
  const ok = subtype === "success" && line["is_error"] !== true;
  const text = textOf(line["result"]);
  const tokens = meter.result(line);
  result.session_use = meter.session() ?? result.session_use;
  const models = meter.models();
  const activities: Activity[] = [{ kind: "usage", tokens, cost_usd: meter.costUsd(), model: meter.model(), models }];
  const said =
    text ??
    (listOf(line["errors"])
      .filter((error) => typeof error === "string")
      .join("; ") ||
      null);
  const status = numberOf(line["api_error_status"]);
  if (!ok && result.trouble === null && troubleOf(said ?? "", status) !== null) {
    activities.push(trouble({ text: said ?? subtype, status, fatal: true, atMs }));
  }
  result.subagents = numberOf(fieldsOf(line["subagent_stats"])["spawned"]) ?? result.subagents;
  result.deferred = deferredCall(line);
  if (result.deferred !== null) return [...activities, ...waitsForPerson(result.deferred, text)];
  const why = ok ? null : (ENDS[subtype] ?? said ?? `it ended with ${subtype}`);
  const limit = subtype === "error_max_budget_usd" ? ("cost" as const) : undefined;
  return [...activities, { kind: "finished", ok, why, text, ...(limit && { limit }) }];
}

/** A hook may defer a call: the CLI then ends with "success", and the call waits for whoever resumes the session. */
function deferredCall(line: Fields): DeferredCall | null {
  if (line["stop_reason"] !== "tool_deferred") return null;
  const call = fieldsOf(line["deferred_tool_use"]);
  return { id: textOf(call["id"]), tool: textOf(call["name"]) ?? "unknown", input: call["input"] ?? null };
}

function waitsForPerson({ tool }: DeferredCall, text: string | null): Activity[] {
  const why = `it deferred its call of ${tool} and waits for a person to decide`;
  return [
    { kind: "finished", ok: false, why, text },
    { kind: "permission", tool, denied: false },
  ];
}
