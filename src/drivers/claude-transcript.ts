/**
 * Claude Code's transcripts: `projects/FOLDER/SESSION.jsonl` in its home, and `SESSION/subagents/agent-*.jsonl` beside it. They repeat the
 * messages of the stream with what each came to, where the stream knows the output of a message only from the result at the end.
 * The agent can write there: what does not fit is passed over, and a message only grows.
 */
import type { Tokens } from "../core/types.ts";
import type { Aside, AsideReader, Uncosted } from "./driver.ts";
import { countOf, type Fields, fieldsOf, isFields, textOf } from "./fields.ts";
import { addTokens, NO_TOKENS, sizeOf, subtractTokens } from "./stream.ts";

/** No run comes near it; sums of such numbers stay exact. */
const MOST = 1e12;
/** Lines of one message come close together. */
const OPEN_MOST = 256;
const SESSION = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const FILE = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|agent-[\w-]{1,80})\.jsonl$/;

export const claudeTranscripts: Aside = {
  together: true,
  folder(variable) {
    const home =
      variable("CLAUDE_CONFIG_DIR") ?? (variable("HOME") === undefined ? undefined : `${variable("HOME")}/.claude`);
    return home === undefined ? null : `${home}/projects`;
  },
  places(session, _nowMs, cwd) {
    if (!SESSION.test(session)) return [];
    const project = cwd.replaceAll(/[^A-Za-z0-9]/g, "-");
    return [project, `${project}/${session}/subagents`];
  },
  threadOf(name) {
    const id = FILE.exec(name)?.[1];
    // Another session's file: never one of this.
    return id === undefined ? null : { id, beganMs: id.startsWith("agent-") ? null : 0 };
  },
  tells: (head) => head.includes('"role":"assistant"'),
  reader: transcriptReader,
};

function transcriptReader(sinceMs: number): AsideReader {
  const open = new Map<string, Tokens>();
  const used = new Map<string, Uncosted>();
  let total = NO_TOKENS;
  let thread: AsideReader["thread"];

  const count = (key: string, model: string | null, usage: Tokens): void => {
    const earlier = open.get(key) ?? NO_TOKENS;
    if (sizeOf(usage) <= sizeOf(earlier)) return;
    open.set(key, usage);
    const [oldest] = open.size > OPEN_MOST ? open.keys() : [];
    if (oldest !== undefined) open.delete(oldest);
    const more = subtractTokens(usage, earlier);
    total = addTokens(total, more);
    const prompt = Math.ceil((sizeOf(usage) - usage.output) / 1000) * 1000;
    const of = `${prompt} ${model}`;
    used.set(of, { model, tokens: addTokens(used.get(of)?.tokens ?? NO_TOKENS, more), prompt });
  };

  return {
    read(line) {
      if (!isFields(line) || line["type"] !== "assistant") return;
      const session = textOf(line["sessionId"]);
      thread ??= { id: session, session };
      const message = fieldsOf(line["message"]);
      const id = textOf(message["id"]);
      if (id === null || !(Date.parse(textOf(line["timestamp"]) ?? "") >= sinceMs)) return;
      count(`${id} ${textOf(line["requestId"]) ?? ""}`, textOf(message["model"]), usageOf(fieldsOf(message["usage"])));
    },
    get thread() {
      return thread;
    },
    get total() {
      return total;
    },
    used: () => [...used.values()],
  };
}

function usageOf(usage: Fields): Tokens {
  const of = (name: string): number => Math.min(MOST, Math.trunc(countOf(usage[name])));
  return {
    input: of("input_tokens"),
    output: of("output_tokens"),
    cache_read: of("cache_read_input_tokens"),
    cache_write: of("cache_creation_input_tokens"),
  };
}
