/** What the judge says of streams that the real CLIs printed: test/fixtures/streams. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { driverNamed } from "../../src/drivers/index.ts";
import { type Facts, Judge, type Judgement } from "../../src/judge/judge.ts";
import { CLI_NAMES } from "../support/cli/real-clis.ts";

const TASK = "Do what the script says: write a file, read it, and run a command on it.";
const START = Date.parse("2026-11-16T00:00:00Z");
const FACTS: Facts = {
  nowMs: START,
  phase: "running",
  outcome: null,
  why: null,
  startedMs: START,
  lastOutputMs: null,
  hold: null,
  speaks: true,
  process: { cpu: 0.001, children: 0, stopped: false },
};

function linesOf(name: string): string[] {
  const file = fileURLToPath(new URL(`../fixtures/streams/${name}.jsonl`, import.meta.url));
  return readFileSync(file, "utf8").split("\n").filter(Boolean);
}

/** Every verdict from line to line, asked half a second after each, and the judge at the end. */
function replay(cli: string, lines: readonly string[]): { judge: Judge; verdicts: Judgement[] } {
  const reader = driverNamed(cli).reader();
  const judge = new Judge(TASK);
  const verdicts = lines.map((line, index) => {
    for (const activity of reader.read(JSON.parse(line), START)) judge.add(activity, START, index + 1);
    return judge.verdict({ ...FACTS, nowMs: START + 500 });
  });
  return { judge, verdicts };
}

describe("recorded streams of the real CLIs, judged", () => {
  it.each(CLI_NAMES)("%s: a run that succeeds is never flagged, and is on track at the end", (cli) => {
    const { judge, verdicts } = replay(cli, linesOf(`${cli}-success`));
    expect(verdicts.filter(({ level }) => level !== "none")).toEqual([]);
    const ended: Facts = { ...FACTS, phase: "drained", outcome: "completed" };
    expect(judge.verdict(ended)).toMatchObject({ verdict: "on_track", level: "none" });
  });

  it.each(CLI_NAMES)("%s: a run that is rate limited and recovers is looked at and not told", (cli) => {
    const { judge, verdicts } = replay(cli, linesOf(`${cli}-rate-limited`));
    expect(verdicts.filter(({ level }) => level === "alert")).toEqual([]);
    expect(judge.verdict({ ...FACTS, phase: "drained", outcome: "completed" }).verdict).toBe("on_track");
  });

  it.each(CLI_NAMES.flatMap((cli) => [`${cli}-silent`, `${cli}-stalled`]))(
    "%s: a model that stops answering is blocked with its cause within 240 s",
    (name) => {
      const cli = name.split("-")[0] ?? "";
      // The recording was ended by a stop, of which Claude Code still prints that it was interrupted.
      const lines = linesOf(name).filter((line) => !/interrupted by user|"type":"result"/.test(line));
      const { judge } = replay(cli, lines);
      const at = (seconds: number): Judgement => judge.verdict({ ...FACTS, nowMs: START + seconds * 1000 });
      expect(at(15).level).toBe("none");
      expect(at(30)).toMatchObject({ verdict: "unknown", level: "watch" });
      expect(at(138).level).not.toBe("alert");
      const told = at(240);
      expect(told).toMatchObject({ verdict: "blocked", level: "alert" });
      expect(told.cause).toBe(lines.length === 0 ? "no_first_output" : "model_silent");
    },
  );

  it.each(
    CLI_NAMES.flatMap(
      (cli) =>
        [
          [cli, "unauthorized", /^auth$/],
          [cli, "quota", /^(?:quota|rate_limit)$/],
          [cli, "overloaded", /^(?:overloaded|api_error)$/],
        ] as const,
    ),
  )("%s %s: the right cause", (cli, kind, cause) => {
    const { judge } = replay(cli, linesOf(`${cli}-${kind}`));
    const told = judge.verdict({ ...FACTS, phase: "drained", outcome: "failed", why: "It failed." });
    expect(told).toMatchObject({ verdict: "blocked", level: "alert" });
    expect(told.cause).toMatch(cause);
    // Codex does not print what the API says of it.
    if (kind === "quota" && cli !== "codex") expect(told.resets_at).toBe("2030-01-01T00:00:00.000Z");
  });
});
