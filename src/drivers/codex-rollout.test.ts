import { describe, expect, it } from "vitest";
import { codexRollouts } from "./codex-rollout.ts";
import type { AsideReader } from "./driver.ts";

const THREAD = "01a1e0ae-94ac-7592-affe-cbc4b6b0210e";
const BEGAN = Date.parse("2026-11-15T19:28:20.140Z");
const at = (s: number): string => new Date(BEGAN + s * 1000).toISOString();
const usage = (input: number, output: number, cached = 0): object => ({
  input_tokens: input,
  cached_input_tokens: cached,
  cache_write_input_tokens: 0,
  output_tokens: output,
});
const count = (timestamp: string, total: object | null): object => ({
  timestamp,
  type: "event_msg",
  payload: { type: "token_count", info: total && { total_token_usage: total } },
});
const context = (model: string): object => ({ timestamp: at(0), type: "turn_context", payload: { model } });
const read = (lines: readonly unknown[], before: Parameters<typeof codexRollouts.reader>[1] = null): AsideReader => {
  const reader = codexRollouts.reader(BEGAN, before);
  for (const line of lines) reader.read(line);
  return reader;
};
const tokens = (input: number, output: number, cache_read = 0): object => ({
  input,
  output,
  cache_read,
  cache_write: 0,
});

describe("where Codex writes its threads", () => {
  it("is its home, as the run's environment names it", () => {
    const folder = (env: Record<string, string>): string | null => codexRollouts.folder((name) => env[name]);
    expect(folder({ CODEX_HOME: "/c", HOME: "/h" })).toBe("/c/sessions");
    expect(folder({ HOME: "/h" })).toBe("/h/.codex/sessions");
    expect(folder({})).toBeNull();
  });

  it("is a day that the id of the thread tells, wherever the machine is, or a day of now", () => {
    const now = Date.parse("2026-11-19T12:00:00Z");
    expect(codexRollouts.places(THREAD, now, "/")).toEqual([
      "2026/11/14",
      "2026/11/15",
      "2026/11/16",
      "2026/11/18",
      "2026/11/19",
      "2026/11/20",
    ]);
    expect(codexRollouts.places("../../etc", now, "/")).toEqual([]);
  });

  it("is a file with the thread in its name", () => {
    const { threadOf } = codexRollouts;
    expect(threadOf(`rollout-2026-11-15T19-28-20-${THREAD}.jsonl`)).toEqual({ id: THREAD, beganMs: 1794770900140 });
    for (const name of ["session.jsonl", `rollout-${THREAD}.jsonl`, `rollout-x/../y-${THREAD}.jsonl`, "rollout-.jsonl"])
      expect(threadOf(name)).toBeNull();
  });
});

describe("what a rollout file says was used", () => {
  it("is the thread's total, each model's own part of it, repeated lines once", () => {
    const { used, thread, total } = read([
      { type: "session_meta", payload: { id: THREAD, session_id: THREAD } },
      context("gpt-a"),
      count(at(1), usage(1000, 10, 400)),
      count(at(1), usage(1000, 10, 400)),
      { timestamp: at(2), type: "token_usage_record", payload: { thread_token_usage: usage(2500, 30, 900) } },
      count(at(2), usage(2500, 30, 900)),
      context("gpt-b"),
      count(at(3), null),
      count(at(4), usage(2600, 40, 900)),
    ]);
    expect(thread).toEqual({ id: THREAD, session: THREAD });
    expect(total).toEqual(tokens(1700, 40, 900));
    expect(used()).toEqual([
      { model: "gpt-a", tokens: tokens(600, 10, 400), prompt: 1000 },
      { model: "gpt-a", tokens: tokens(1000, 20, 500), prompt: 2000 },
      { model: "gpt-b", tokens: tokens(100, 10), prompt: 1000 },
    ]);
  });

  it("is not what was there before the run: by the time of the lines, or by what the run before it told", () => {
    const lines = [count(at(-60), usage(5000, 50)), count(at(1), usage(6000, 60))];
    expect(read(lines).used()).toEqual([{ model: null, tokens: tokens(1000, 10), prompt: 1000 }]);
    const before = { tokens: { input: 5000, output: 50, cache_read: 0, cache_write: 0 }, cost_usd: null };
    expect(read(lines, before).used()).toEqual([{ model: null, tokens: tokens(1000, 10), prompt: 1000 }]);
    expect(read(lines.slice(1), before).used()).toEqual([{ model: null, tokens: tokens(1000, 10), prompt: 1000 }]);
    // A total that cannot include what was there before is this run's alone.
    expect(read([count(at(1), usage(300, 3))], before).used()).toEqual([
      { model: null, tokens: tokens(300, 3), prompt: 1000 },
    ]);
  });

  it("only goes up, and what is no figure counts nothing", () => {
    const { used } = read([
      count(at(1), usage(1000, 10)),
      count(at(2), usage(10, 1)),
      count(at(3), usage(-5, Number.NaN)),
      count(at(3), usage(Number.POSITIVE_INFINITY, 10)),
      {
        type: "event_msg",
        timestamp: "yesterday",
        payload: { type: "token_count", info: { total_token_usage: usage(9e3, 9e3) } },
      },
      count(at(-5), usage(8000, 8000)),
      "no object",
      { type: "event_msg" },
      count(at(4), usage(1100, 11)),
    ]);
    expect(used()).toEqual([{ model: null, tokens: tokens(1100, 11), prompt: 1000 }]);
  });

  it("is never more than a run can use", () => {
    expect(read([count(at(1), usage(1e300, 1))]).total.input).toBe(1e12);
  });
});
