/**
 * Codex's rollout files: `sessions/Y/M/D/rollout-TIME-THREAD.jsonl` in its home, one a thread, written as it works. After each request of
 * its model a `token_usage_record` tells the thread's total at once and a `token_count` when the tools that it called are through; the
 * stream does so at the end of a turn. The model stands in the `turn_context` before it. A sub-agent is a thread of its own that names the session. The agent can write there: what does not fit is
 * passed over, and a total only goes up.
 */
import type { Tokens } from "../core/types.ts";
import type { Aside, AsideReader, SessionUse, Uncosted } from "./driver.ts";
import { countOf, type Fields, fieldsOf, isFields, textOf } from "./fields.ts";
import { addTokens, NO_TOKENS, sizeOf } from "./stream.ts";

const DAY_MS = 86_400_000;
/** No run comes near it; sums of such numbers stay exact. */
const MOST = 1e12;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const FILE = /^rollout-[\dT:.-]{1,40}-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl$/;
/** Of some lines in hundreds, and they may be long. */
const TELLING = /"type":"(?:session_meta|turn_context|token_count|token_usage_record)"/;

export const codexRollouts: Aside = {
  together: false,
  folder(variable) {
    const home = variable("CODEX_HOME") ?? (variable("HOME") === undefined ? undefined : `${variable("HOME")}/.codex`);
    return home === undefined ? null : `${home}/sessions`;
  },
  /** By the local day on which the thread began: its id tells when, but not where the machine was. */
  places(thread, nowMs) {
    if (!UUID.test(thread)) return [];
    const days = [beganMs(thread) ?? nowMs, nowMs].flatMap((ms) => [ms - DAY_MS, ms, ms + DAY_MS]);
    return [...new Set(days.map((ms) => new Date(ms).toISOString().slice(0, 10).replaceAll("-", "/")))];
  },
  threadOf(name) {
    const id = FILE.exec(name)?.[1];
    return id === undefined ? null : { id, beganMs: beganMs(id) };
  },
  tells: (head) => TELLING.test(head),
  reader: rolloutReader,
};

/** A UUID of version 7 begins with its time. */
function beganMs(thread: string): number | null {
  return thread[14] === "7" ? Number.parseInt(thread.slice(0, 8) + thread.slice(9, 13), 16) : null;
}

/** `before`: what the thread had used when the run began. Lines that were written before `sinceMs` are not of this run. */
function rolloutReader(sinceMs: number, before: SessionUse | null): AsideReader {
  const used = new Map<string, Uncosted>();
  let thread: AsideReader["thread"];
  let model: string | null = null;
  let total = before?.tokens ?? NO_TOKENS;
  let counted = false;

  const count = (usage: Fields, atMs: number): void => {
    const now = tokensOf(usage);
    const own = atMs >= sinceMs;
    // What is older comes first: behind a line of this run somebody else has written it.
    if (!own && (counted || Number.isNaN(atMs))) return;
    // A first total below what was there before cannot include it: it is this run's alone.
    if (own && !counted && sizeOf(now) > 0 && sizeOf(now) < sizeOf(total)) total = NO_TOKENS;
    const more = risen(now, total);
    if (sizeOf(more) === 0) return;
    total = addTokens(total, more);
    if (!own) return;
    counted = true;
    // One request: a price may depend on the length of its prompt, and changes at a whole thousand.
    const prompt = Math.ceil((sizeOf(more) - more.output) / 1000) * 1000;
    const key = `${prompt} ${model}`;
    used.set(key, { model, tokens: addTokens(used.get(key)?.tokens ?? NO_TOKENS, more), prompt });
  };

  return {
    read(line) {
      if (!isFields(line)) return;
      const payload = fieldsOf(line["payload"]);
      if (line["type"] === "session_meta")
        thread ??= { id: textOf(payload["id"]), session: textOf(payload["session_id"]) };
      else if (line["type"] === "turn_context") model = textOf(payload["model"]) ?? model;
      else {
        const usage = totalIn(line["type"], payload);
        if (isFields(usage)) count(usage, Date.parse(textOf(line["timestamp"]) ?? ""));
      }
    },
    get thread() {
      return thread;
    },
    get total() {
      return total;
    },
    used: (): Uncosted[] => [...used.values()],
  };
}

/** Of the whole thread. */
function totalIn(type: unknown, payload: Fields): unknown {
  if (type === "token_usage_record") return payload["thread_token_usage"];
  return payload["type"] === "token_count" ? fieldsOf(payload["info"])["total_token_usage"] : undefined;
}

function tokensOf(usage: Fields): Tokens {
  const count = (name: string): number => Math.min(MOST, Math.trunc(countOf(usage[name])));
  const cached = count("cached_input_tokens");
  return {
    // Codex counts what came from the cache as input too.
    input: Math.max(0, count("input_tokens") - cached),
    output: count("output_tokens"),
    cache_read: cached,
    cache_write: count("cache_write_input_tokens"),
  };
}

function risen(now: Tokens, before: Tokens): Tokens {
  const more = (kind: keyof Tokens): number => Math.max(0, now[kind] - before[kind]);
  return {
    input: more("input"),
    output: more("output"),
    cache_read: more("cache_read"),
    cache_write: more("cache_write"),
  };
}
