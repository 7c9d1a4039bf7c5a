/**
 * One model behind an API. The packages that speak to it are loaded only here and only when it is configured; nothing of midwatch needs
 * them otherwise. What goes over the wire is ours: one request for each call, no redirect, a bounded answer, an own time-out. Errors name
 * what happened and never what was sent or answered: an API may repeat the key it refuses.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../core/config/config.ts";
import { MidwatchError } from "../../core/errors.ts";
import type { Prompt } from "./prompt.ts";

export const OUTPUT_TOKENS = 700;
const ANSWER_BYTES = 32 << 10;
const RETRY_AFTER_MOST_MS = 3_600_000;
const ANTHROPIC = "https://api.anthropic.com/v1";

/** What is sent besides the prompt, in tokens at the worst: the schema, and what a provider adds to explain it. */
const OVERHEAD_TOKENS = 1500;

export interface Reply {
  text: string;
  /** Null when the API does not tell. */
  tokens: { input: number; output: number } | null;
}

export interface Turn {
  answer: string;
  say: string;
}

export interface Model {
  readonly name: string;
  /** What is sent besides the prompt, in tokens at the worst. */
  readonly overhead: number;
  /** It is asked once about a finding, whatever comes of that. */
  readonly once: boolean;
  /** Hides the key itself. */
  hide(text: string): string;
  /** `turn`: the answer to this prompt that could not be used, and what is said of it. Throws CallFailed. */
  ask(prompt: Prompt, turn: Turn | null, signal: AbortSignal): Promise<Reply>;
}

export class CallFailed extends Error {
  override readonly name = "CallFailed";
  /** The API said when to come again. */
  readonly retryAfterMs: number | null;
  /** Nothing gets better by itself: a wrong key, an unknown model. */
  readonly lasting: boolean;
  /** The API refused before it worked, so the call cost nothing. */
  readonly free: boolean;

  constructor(message: string, more: { retryAfterMs?: number | null; lasting?: boolean; free?: boolean } = {}) {
    super(message);
    this.retryAfterMs = more.retryAfterMs ?? null;
    this.lasting = more.lasting ?? false;
    this.free = more.free ?? false;
  }
}

type Settings = Pick<
  Config,
  "llm_provider" | "llm_base_url" | "llm_model" | "llm_key_env" | "llm_key_file" | "llm_timeout"
>;

/** Throws NO_LLM with what is missing. Relative paths of key files count from `folder`. */
export async function openModel(
  config: Settings,
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<Model> {
  const { llm_provider: provider, llm_model: name, llm_timeout: timeoutMs } = config;
  const baseURL = addressOf(config);
  const apiKey = keyOf(config, env, folder);
  if (apiKey !== undefined && !isPrivate(baseURL))
    throw missing("A key is not sent without encryption.", "Give llm_base_url as https://..., or use no key.");
  const ai = await load("ai", provider, () => import("ai"));
  const settings = { baseURL, fetch: guardedFetch };
  const model =
    provider === "anthropic"
      ? (await load("@ai-sdk/anthropic", provider, () => import("@ai-sdk/anthropic"))).createAnthropic({
          ...settings,
          apiKey: apiKey as string,
        })(name)
      : (
          await load("@ai-sdk/openai-compatible", provider, () => import("@ai-sdk/openai-compatible"))
        ).createOpenAICompatible({ ...settings, name: "llm", ...(apiKey === undefined ? {} : { apiKey }) })(name);
  // Servers that speak like OpenAI differ in what they take for a schema: there the prompt alone tells.
  const { ANSWER } = await import("./answer.ts");
  const output = provider === "anthropic" ? { output: ai.Output.object({ schema: ANSWER }) } : {};
  return {
    name,
    overhead: OVERHEAD_TOKENS,
    once: false,
    hide: (text) => (apiKey === undefined ? text : text.replaceAll(apiKey, "[masked]")),
    async ask({ system, user }, turn, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const { text, usage } = await ai.generateText({
          model,
          instructions: system,
          messages: [
            { role: "user", content: user },
            ...(turn === null
              ? []
              : [
                  { role: "assistant" as const, content: turn.answer },
                  { role: "user" as const, content: turn.say },
                ]),
          ],
          ...output,
          maxOutputTokens: OUTPUT_TOKENS,
          maxRetries: 0,
          abortSignal: AbortSignal.any([signal, timeout]),
        });
        return { text, tokens: tokensOf(usage) };
      } catch (error) {
        // It answered, and not by the schema: the text may be of use still.
        if (ai.NoObjectGeneratedError.isInstance(error))
          return { text: error.text ?? "", tokens: tokensOf(error.usage) };
        throw failureOf(error, timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : undefined);
      }
    },
  };
}

function addressOf({ llm_provider: provider, llm_base_url: url }: Settings): string {
  if (url !== "") return url.replace(/\/+$/, "");
  if (provider === "anthropic") return ANTHROPIC; // Said here: the package would ask the environment.
  throw missing(
    "The second opinion by openai-compatible needs llm_base_url.",
    "For a server of your own: MIDWATCH_LLM_BASE_URL=http://127.0.0.1:11434/v1",
  );
}

function keyOf(
  { llm_provider: provider, llm_key_env: given, llm_key_file: file }: Settings,
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): string | undefined {
  if (file !== "") {
    const key = readKey(resolve(folder, file));
    if (key) return key;
    throw missing(`There is no key to be read in ${file}.`, "llm_key_file names a file whose first line is the key.");
  }
  const variable = given || (provider === "anthropic" ? "ANTHROPIC_API_KEY" : "");
  const key = variable === "" ? "" : (env[variable]?.trim() ?? "");
  if (key !== "") return key;
  if (variable === "") return undefined;
  throw missing(`The second opinion needs a key, and ${variable} is not set.`, `Set ${variable}, or llm_key_file.`);
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").split("\n")[0]?.trim();
  } catch {
    return undefined;
  }
}

function isPrivate(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}

async function load<T>(name: string, provider: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw missing(
      `The second opinion needs the package ${name}, which is not installed.`,
      `npm install ai@7 @ai-sdk/${provider}@${provider === "anthropic" ? 4 : 3} (with -g if midwatch is installed so)`,
    );
  }
}

function missing(message: string, hint: string): MidwatchError {
  return new MidwatchError("NO_LLM", message, { hint });
}

/** A redirect would carry the key to another host; an endless answer would fill the memory. */
const guardedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "error" });
  if (!response.ok) {
    void response.body?.cancel().catch(() => undefined);
    const { status } = response;
    throw new CallFailed(`the API answered ${status}`, {
      retryAfterMs: retryAfter(response.headers.get("retry-after")),
      lasting: status < 500 && ![408, 409, 425, 429].includes(status),
      free: true,
    });
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES) throw new CallFailed(`the answer is longer than ${ANSWER_BYTES >> 10} KiB`);
    parts.push(part);
  }
  return new Response(Buffer.concat(parts), { status: response.status, headers: response.headers });
};

/** Seconds, or a date. */
function retryAfter(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), RETRY_AFTER_MOST_MS) : null;
}

function tokensOf(
  usage: { inputTokens?: number | undefined; outputTokens?: number | undefined } | undefined,
): Reply["tokens"] {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  return input === undefined || output === undefined ? null : { input, output };
}

/** The packages wrap what our fetch throws. */
function failureOf(thrown: unknown, known: string | undefined): CallFailed {
  for (let error = thrown; error instanceof Error; error = error.cause) if (error instanceof CallFailed) return error;
  if (known !== undefined) return new CallFailed(known);
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return new CallFailed(`the API could not be reached or not be understood${code}`, {
    free: code === " (ECONNREFUSED)",
  });
}
