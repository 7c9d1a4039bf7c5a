/**
 * A model behind an agent CLI that is installed and logged in: asked once, in an empty folder, without tools, MCP servers, hooks or a
 * session that is kept. What is asked goes in as its input, never through argv. It runs as the user, and spends from the same account
 * as the agents: where that is at its limit, this is told as a failure like any other and tried again later.
 */
import { join } from "node:path";
import type { Config } from "../../core/config/config.ts";
import { MidwatchError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { withScratch } from "../../disk/scratch.ts";
import { fieldsOf, numberOf, textOf } from "../../drivers/fields.ts";
import { consult } from "../../process/feed.ts";
import { toolVersion } from "../../process/tool.ts";
import { CallFailed, type Model, type Reply } from "./model.ts";
import type { Prompt } from "./prompt.ts";

type Settings = Pick<Config, "opinion" | "llm_model" | "llm_timeout">;

const ANSWER_BYTES = 256 << 10;
/** A limit of its own, where a CLI takes one. */
const MOST_USD = 0.25;

interface Reader {
  /** What it sends besides the prompt, in tokens. */
  overhead: number;
  args(model: string, system: string): string[];
  /** What is given to it as its input. */
  input(prompt: Prompt): string;
  read(said: string): Reply;
}

const READERS: Readonly<Record<"claude" | "codex", Reader>> = {
  claude: {
    overhead: 3000,
    args: (model, system) => [
      ...["-p", "--output-format", "json", "--model", model, "--tools=", "--strict-mcp-config"],
      ...["--setting-sources", "user", "--settings", '{"disableAllHooks":true}', "--disable-slash-commands"],
      ...["--no-session-persistence", "--max-budget-usd", String(MOST_USD), "--system-prompt", system],
    ],
    input: ({ user }) => user,
    read: readClaude,
  },
  codex: {
    overhead: 14_000,
    // The default is of another provider.
    args: (model) => [
      ...["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"],
      ...["-c", "mcp_servers={}", "-c", 'web_search="disabled"', "--disable", "shell_tool"],
      ...(model.startsWith("claude") ? [] : ["--model", model]),
      "-",
    ],
    input: ({ system, user }) => `${system}\n\n${user}`,
    read: readCodex,
  },
};

/** Throws NO_LLM when it is not installed. */
export function openCli(
  { opinion, llm_model: model, llm_timeout: timeoutMs }: Settings,
  env: Readonly<Record<string, string | undefined>>,
): Model {
  if (opinion === "off") throw new Error("no reader is configured");
  const reader = READERS[opinion];
  if (toolVersion(opinion, "--version", env) === undefined)
    throw new MidwatchError("NO_LLM", `The second opinion asks ${opinion}, which is not installed.`, {
      hint: `Install ${opinion} and log in, or set "opinion" to "off".`,
    });
  return {
    name: opinion === "codex" && model.startsWith("claude") ? "codex" : model,
    overhead: reader.overhead,
    once: true,
    hide: (text) => text,
    ask: (prompt, turn, signal) =>
      withScratch({}, async (folder) => {
        const whole =
          turn === null ? prompt : { ...prompt, user: `${prompt.user}\n\nYou answered: ${turn.answer}\n\n${turn.say}` };
        const { how, said } = await consult([opinion, ...reader.args(model, prompt.system)], reader.input(whole), {
          cwd: join(folder, "objects"),
          env: { ...env },
          timeoutMs,
          signal,
          mostBytes: ANSWER_BYTES,
        });
        if (how !== undefined) throw new CallFailed(`${opinion} did not answer (${how})`);
        return reader.read(said);
      }),
  };
}

function readClaude(said: string): Reply {
  const result = fieldsOf(parseJson(said.trim().split("\n").at(-1) ?? ""));
  const text = textOf(result["result"]);
  if (text === null || result["is_error"] === true) throw new CallFailed("claude answered with an error");
  const usage = fieldsOf(result["usage"]);
  const input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map((key) =>
    numberOf(usage[key]),
  );
  const output = numberOf(usage["output_tokens"]);
  const sum = input.reduce<number>((all, one) => all + (one ?? 0), 0);
  return { text, tokens: output === null || sum + output === 0 ? null : { input: sum, output } };
}

function readCodex(said: string): Reply {
  let text: string | null = null;
  let tokens: Reply["tokens"] = null;
  for (const line of said.split("\n")) {
    const event = fieldsOf(parseJson(line));
    const item = fieldsOf(event["item"]);
    if (item["type"] === "agent_message") text = textOf(item["text"]) ?? text;
    if (event["type"] !== "turn.completed") continue;
    const usage = fieldsOf(event["usage"]);
    const [input, output] = [numberOf(usage["input_tokens"]), numberOf(usage["output_tokens"])];
    tokens = input === null || output === null ? null : { input, output };
  }
  if (text === null) throw new CallFailed("codex answered with an error");
  return { text, tokens };
}
