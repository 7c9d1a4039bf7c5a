/**
 * Gemini CLI with stream-json; a legacy driver. Its exit code is an HTTP status cut to eight bits, it exits 0 after a signal and
 * after a broken stream: only its `result` line counts. Retries are seen on stderr alone.
 */
import { parseJson } from "../core/json.ts";
import type { Tokens } from "../core/types.ts";
import type { Activity, Driver, Launch, LaunchRequest, Permission, StreamReader, TroubleActivity } from "./driver.ts";
import { countOf, type Fields, fieldsOf, textOf } from "./fields.ts";
import { judgeStream } from "./judge.ts";
import { pathsOf } from "./paths.ts";
import { checkNames, refuseInteractive, unsupported } from "./refuse.ts";
import { note, streamReader } from "./stream.ts";
import { statusIn, trouble } from "./trouble.ts";

const PERMISSIONS: Readonly<Record<Permission, string>> = {
  ask: "default",
  edit: "auto_edit",
  all: "yolo",
  plan: "plan",
};

const EXITS: Readonly<Record<number, string>> = {
  41: "not logged in",
  42: "bad input",
  52: "bad configuration",
  53: "limit of turns",
  55: "the folder is not trusted",
  144: "HTTP 400",
  145: "HTTP 401",
  147: "HTTP 403",
  173: "HTTP 429",
  244: "HTTP 500",
  247: "HTTP 503",
};

export const gemini: Driver = {
  name: "gemini",
  program: "gemini",
  install: "npm install -g @google/gemini-cli",
  json: true,
  mcp: false,
  knownVersions: ["0.61"],
  legacy: true,
  launch,
  reader: geminiReader,
  judge: (ending) => judgeStream(ending, EXITS),
  stderr: retries,
};

const RETRY = /^Attempt (\d+) failed\b.*$/gm;

/** "Attempt 2 failed with status 429. Retrying with backoff...": those of the last request; the first of it means that the one before went well. */
function retries(text: string, atMs: number): TroubleActivity[] {
  const found = [...text.matchAll(RETRY)];
  const first = Math.max(
    0,
    found.findLastIndex(([, attempt]) => attempt === "1"),
  );
  return found.slice(first).map(([line]) => trouble({ text: line, otherwise: "network", fatal: false, atMs }));
}

/** The page reads with it too; on its own, so that nothing of a launch comes along. */
export function geminiReader(): StreamReader {
  let answer = "";
  // What the model says comes in pieces: a turn begins with the first piece after anything else.
  let speaking = false;
  return streamReader((line, result, atMs) => {
    const spoke = speaking;
    speaking = line["type"] === "message" && line["role"] === "assistant";
    switch (line["type"]) {
      case "init":
        return [{ kind: "started", session: textOf(line["session_id"]), model: textOf(line["model"]) }];
      case "message": {
        const text = textOf(line["content"]) ?? "";
        if (!speaking) return [note("message", line["role"])];
        if (!spoke) result.turns++;
        answer = spoke ? answer + text : text;
        return [{ kind: "said", text }];
      }
      case "tool_use": {
        const input = line["parameters"];
        const name = textOf(line["tool_name"]) ?? "unknown";
        return [{ kind: "tool", id: textOf(line["tool_id"]), name, input, paths: pathsOf(input) }];
      }
      case "tool_result":
        return [toolResult(line)];
      case "error": {
        const text = textOf(line["message"]) ?? "unknown error";
        return line["severity"] === "warning"
          ? [note("warning")]
          : [trouble({ text, fatal: false, atMs: lineTime(line, atMs) })];
      }
      case "result":
        return finish(line, answer, lineTime(line, atMs));
      default:
        return [note(line["type"])];
    }
  });
}

function launch(request: LaunchRequest): Launch {
  const { resume, session, model } = request;
  refuseInteractive("gemini", request);
  checkNames(request);
  // Its settings come from the user's home, the project, or files that must belong to root: none is ours to write.
  if (request.mcp.length > 0) {
    throw unsupported(
      "gemini",
      "cannot be given MCP servers",
      "Add them with `gemini mcp add`, or choose another driver.",
    );
  }
  // Without --skip-trust it refuses to run headless in a folder that nobody has trusted in its own dialogue.
  const argv = ["gemini", "-o", "stream-json", "--skip-trust", "--approval-mode", PERMISSIONS[request.permission]];
  argv.push(...(resume === null ? ["--session-id", session] : ["--resume", resume]));
  if (model !== null) argv.push("--model", model);
  return {
    argv: [...argv, ...request.args],
    // It starts itself again as a child and forwards no signal, unless told not to.
    env: { GEMINI_CLI_NO_RELAUNCH: "true" },
    stdin: request.prompt,
    files: [],
    session: resume ?? session,
  };
}

function lineTime(line: Fields, atMs: number | null): number | null {
  const own = Date.parse(textOf(line["timestamp"]) ?? "");
  return Number.isNaN(own) ? atMs : own;
}

function toolResult(line: Fields): Activity {
  const text = textOf(line["output"]) ?? textOf(fieldsOf(line["error"])["message"]) ?? "";
  return { kind: "tool_result", id: textOf(line["tool_id"]), ok: line["status"] !== "error", text };
}

function finish(line: Fields, answer: string, atMs: number | null): Activity[] {
  const stats = fieldsOf(line["stats"]);
  const models = Object.entries(fieldsOf(stats["models"])).filter(
    ([, used]) => countOf(fieldsOf(used)["total_tokens"]) > 0,
  );
  const activities: Activity[] = [];
  if (line["stats"] !== undefined) {
    const model = models.length === 1 ? (models[0]?.[0] ?? null) : null;
    activities.push({ kind: "usage", tokens: statsTokens(stats), cost_usd: null, model });
  }
  if (line["status"] === "success")
    return [...activities, { kind: "finished", ok: true, why: null, text: answer || null }];
  const text = textOf(fieldsOf(line["error"])["message"]) ?? "it ended with an error";
  const reported = trouble({ text, fatal: true, atMs });
  const why = innerMessage(text);
  activities.push({ ...reported, text: why });
  return [...activities, { kind: "finished", ok: false, why, text: null }];
}

/** `[API Error: {"error":{"code":401,"message":"..."}}]`: what the API said, out of its wrapping. */
function innerMessage(text: string): string {
  const quoted = /"message":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const status = statusIn(text);
  const inner = textOf(parseJson(quoted ?? ""));
  return inner === null ? text : `API error${status === null ? "" : ` ${status}`}: ${inner}`;
}

function statsTokens(stats: Fields): Tokens {
  const prompt = countOf(stats["input_tokens"]);
  const cached = countOf(stats["cached"]);
  return {
    input: Math.max(0, prompt - cached),
    // Thinking is paid as output, and only the total counts it.
    output: Math.max(countOf(stats["output_tokens"]), countOf(stats["total_tokens"]) - prompt),
    cache_read: cached,
    cache_write: 0,
  };
}
