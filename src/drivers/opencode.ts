/**
 * OpenCode: `opencode run --format json`. There is no line for the end: it ended well when the last `step_finish` says "stop".
 * A tool shows when it is done, with its result; tokens and cost come with each step and are added up.
 */
import { MidwatchError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Tokens } from "../core/types.ts";
import type { Activity, Driver, Launch, LaunchRequest, McpServer, Permission, StreamReader } from "./driver.ts";
import { countOf, type Fields, fieldsOf, isFields, numberOf, textOf } from "./fields.ts";
import { judgeStream } from "./judge.ts";
import { pathsOf } from "./paths.ts";
import { checkNames, refuseInteractive } from "./refuse.ts";
import { addTokens, NO_TOKENS, note, sizeOf, streamReader } from "./stream.ts";
import { trouble } from "./trouble.ts";

/**
 * By default it allows nearly everything, and a question that nobody answers ends the whole run. So what would need a person is
 * denied: the model is told and goes on. `--auto` keeps what the user's own configuration denies.
 */
const RULES: Readonly<Record<Permission, Readonly<Record<string, string>> | null>> = {
  ask: { edit: "deny", bash: "deny", webfetch: "deny" },
  edit: { edit: "allow", bash: "deny", webfetch: "deny" },
  all: null,
  plan: { edit: "deny", bash: "deny" },
};
const FLAGS: Readonly<Record<Permission, readonly string[]>> = {
  ask: [],
  edit: [],
  all: ["--auto"],
  plan: ["--agent", "plan"],
};

const CONFIG = "OPENCODE_CONFIG_CONTENT";
/** To start a server and to list its tools; 5 seconds are too few on a busy machine. */
const TIMEOUT_MS = 60_000;
const NOT_PERMITTED = /rejected permission|rule which prevents/i;

export const opencode: Driver = {
  name: "opencode",
  program: "opencode",
  install: "npm install -g opencode-ai",
  json: true,
  mcp: true,
  knownVersions: ["1.18"],
  launch,
  reader: opencodeReader,
  judge: (ending) => judgeStream(ending),
};

/** The page reads with it too; on its own, so that nothing of a launch comes along. */
export function opencodeReader(): StreamReader {
  let tokens = NO_TOKENS;
  let cost: number | null = null;
  let answer: string | null = null;
  const usageOf = (part: Fields): Activity => {
    const step = stepTokens(fieldsOf(part["tokens"]));
    tokens = addTokens(tokens, step);
    const told = numberOf(part["cost"]);
    // Of a model that is in no list of its own it says 0: it does not know.
    if (told === null || (told === 0 && sizeOf(step) > 0))
      return { kind: "usage", tokens, cost_usd: null, model: null, prompt: sizeOf(step) - step.output };
    cost = (cost ?? 0) + told;
    return { kind: "usage", tokens, cost_usd: cost, model: null };
  };
  return streamReader((line, result, atMs) => {
    const part = fieldsOf(line["part"]);
    const session = textOf(line["sessionID"]);
    const started: Activity[] =
      session !== null && result.session === null ? [{ kind: "started", session, model: null }] : [];
    switch (line["type"]) {
      case "step_start":
        result.turns++;
        result.finished = null;
        return [...started, note("step_start")];
      case "text":
        answer = textOf(part["text"]);
        return [...started, { kind: "said", text: answer ?? "" }];
      case "reasoning":
        return [...started, { kind: "thought", text: textOf(part["text"]) ?? "" }];
      case "tool_use":
        return [...started, ...toolUse(part)];
      case "step_finish":
        return [...started, usageOf(part), ...stepEnd(part["reason"], answer)];
      case "error":
        return [...started, ...failure(fieldsOf(line["error"]), numberOf(line["timestamp"]) ?? atMs)];
      default:
        return [...started, note(line["type"])];
    }
  });
}

function launch(request: LaunchRequest): Launch {
  const { mcp, resume, model, permission } = request;
  refuseInteractive("opencode", request);
  checkNames(request);
  const argv = ["opencode", "run", "--format", "json", ...FLAGS[permission]];
  if (resume !== null) argv.push("--session", resume);
  if (model !== null) argv.push("--model", model);
  const env: Record<string, string> = { OPENCODE_DISABLE_AUTOUPDATE: "1" };
  const rules = RULES[permission];
  if (rules !== null || mcp.length > 0) env[CONFIG] = JSON.stringify(config(request.env[CONFIG], rules, mcp));
  return { argv: [...argv, ...request.args], env, stdin: request.prompt, files: [], session: resume };
}

/** The caller's own inline configuration stays, ours goes on top. */
function config(
  own: string | undefined,
  rules: Readonly<Record<string, string>> | null,
  mcp: readonly McpServer[],
): Fields {
  const before = own ? parseConfig(own) : {};
  const merged: Record<string, unknown> = { ...before };
  if (rules !== null) {
    const earlier = before["permission"];
    merged["permission"] = { ...(typeof earlier === "string" ? { "*": earlier } : fieldsOf(earlier)), ...rules };
  }
  if (mcp.length > 0) merged["mcp"] = { ...fieldsOf(before["mcp"]), ...servers(mcp) };
  return merged;
}

function parseConfig(text: string): Fields {
  const parsed = parseJson(text); // The parser's own message would quote the text, which may hold keys.
  if (isFields(parsed)) return parsed;
  throw new MidwatchError("USAGE", `${CONFIG} in the agent's environment is not a JSON object.`, {
    hint: "midwatch has to add permissions and MCP servers to it: make it valid JSON without comments, or unset it.",
  });
}

function servers(mcp: readonly McpServer[]): Record<string, unknown> {
  return Object.fromEntries(
    mcp.map(({ name, at }) => [
      name,
      "url" in at
        ? {
            type: "remote",
            url: at.url,
            headers: { Authorization: `Bearer ${at.bearer}` },
            oauth: false,
            enabled: true,
            timeout: TIMEOUT_MS,
          }
        : { type: "local", command: [at.command, ...at.args], environment: at.env, enabled: true, timeout: TIMEOUT_MS },
    ]),
  );
}

function toolUse(part: Fields): Activity[] {
  const state = fieldsOf(part["state"]);
  const id = textOf(part["callID"]);
  const name = textOf(part["tool"]) ?? "unknown";
  const input = state["input"];
  const error = textOf(state["error"]);
  const ok = state["status"] === "completed" && (numberOf(fieldsOf(state["metadata"])["exit"]) ?? 0) === 0;
  const activities: Activity[] = [{ kind: "tool", id, name, input, paths: pathsOf(input) }];
  if (NOT_PERMITTED.test(error ?? "")) activities.push({ kind: "permission", tool: name, denied: true, input });
  activities.push({ kind: "tool_result", id, ok, text: error ?? textOf(state["output"]) ?? "" });
  return activities;
}

function stepTokens(tokens: Fields): Tokens {
  const cache = fieldsOf(tokens["cache"]);
  return {
    input: countOf(tokens["input"]),
    output: countOf(tokens["output"]) + countOf(tokens["reasoning"]),
    cache_read: countOf(cache["read"]),
    cache_write: countOf(cache["write"]),
  };
}

function stepEnd(reason: unknown, answer: string | null): Activity[] {
  if (reason === "stop") return [{ kind: "finished", ok: true, why: null, text: answer }];
  // The step asked for tools: another one follows, or the run ends without a result.
  if (reason === "tool-calls") return [];
  return [
    { kind: "finished", ok: false, why: `its last step ended with ${textOf(reason) ?? "no reason"}`, text: answer },
  ];
}

function failure(error: Fields, atMs: number | null): Activity[] {
  const data = fieldsOf(error["data"]);
  const text = textOf(data["message"]) ?? textOf(error["name"]) ?? "unknown error";
  const status = numberOf(data["statusCode"]);
  const seconds = Number(textOf(fieldsOf(data["responseHeaders"])["retry-after"]) ?? Number.NaN);
  const resetsAt = Number.isFinite(seconds) && atMs !== null ? new Date(atMs + seconds * 1000).toISOString() : null;
  return [
    trouble({ text, status, resetsAt, otherwise: "api_error", fatal: true, atMs }),
    { kind: "finished", ok: false, why: text, text: null },
  ];
}
