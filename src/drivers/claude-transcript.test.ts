import { expect, it } from "vitest";
import { claudeTranscripts } from "./claude-transcript.ts";

const SESSION = "76137a85-f271-49ec-b5f4-8144195d6241";
const BEGAN = Date.parse("2026-11-15T19:28:18.000Z");
const line = (id: string, output: number, more: object = {}): object => ({
  type: "assistant",
  requestId: "req_1",
  sessionId: SESSION,
  timestamp: "2026-11-15T19:28:18.276Z",
  message: {
    id,
    model: "claude-opus-4-8",
    usage: { input_tokens: 1000, output_tokens: output, cache_read_input_tokens: 5 },
  },
  ...more,
});

it("lies in its home, in a folder named by where it works", () => {
  const folder = (env: Record<string, string>): string | null => claudeTranscripts.folder((name) => env[name]);
  expect(folder({ HOME: "/h" })).toBe("/h/.claude/projects");
  expect(folder({ HOME: "/h", CLAUDE_CONFIG_DIR: "/c" })).toBe("/c/projects");
  expect(folder({})).toBeNull();
  expect(claudeTranscripts.places(SESSION, 0, "/home/dev/my_project.x")).toEqual([
    "-home-dev-my-project-x",
    `-home-dev-my-project-x/${SESSION}/subagents`,
  ]);
  expect(claudeTranscripts.places("..", 0, "/")).toEqual([]);
  expect(claudeTranscripts.threadOf(`${SESSION}.jsonl`)).toEqual({ id: SESSION, beganMs: 0 });
  expect(claudeTranscripts.threadOf("agent-a1b2.jsonl")).toEqual({ id: "agent-a1b2", beganMs: null });
  for (const name of ["agent-a1b2.meta.json", "sessions-index.json", ".jsonl"])
    expect(claudeTranscripts.threadOf(name)).toBeNull();
});

it("counts a message once, with what it came to, and none from before the run", () => {
  const reader = claudeTranscripts.reader(BEGAN, null);
  for (const one of [
    line("m0", 50, { timestamp: "2026-11-15T19:00:00.000Z" }),
    line("m1", 1),
    line("m1", 37),
    line("m1", 37),
    line("m1", 2),
    line("m2", 10),
    { type: "user", message: { role: "user" } },
    "text",
    line("m3", Number.NaN, { timestamp: "no time" }),
  ])
    reader.read(one);
  const tokens = { input: 2000, output: 47, cache_read: 10, cache_write: 0 };
  expect(reader.used()).toEqual([{ model: "claude-opus-4-8", tokens, prompt: 2000 }]);
  expect(reader.thread).toEqual({ id: SESSION, session: SESSION });
});
