import { describe, expect, it } from "vitest";
import type { Activity, TroubleActivity } from "../drivers/index.ts";
import { type Facts, Judge, type Judgement, judge, type Moment } from "./judge.ts";

const START = Date.parse("2026-11-15T19:00:00Z");
const IDLE = { cpu: 0, children: 0, stopped: false };
const RUNNING: Facts = {
  nowMs: START,
  phase: "running",
  outcome: null,
  why: null,
  startedMs: START,
  lastOutputMs: null,
  hold: null,
  speaks: true,
  process: null,
};

interface Used {
  name?: string;
  input?: unknown;
  text?: string;
  ok?: boolean;
}

/** A call and its result, one line each. */
function used(steps: readonly Used[]): Moment[] {
  return steps.flatMap(({ name = "Bash", input = "make", text = "done", ok = true }, index) => {
    const id = String(index);
    const activities: Activity[] = [
      { kind: "tool", id, name, input, paths: [] },
      { kind: "tool_result", id, ok, text },
    ];
    return activities.map((activity, line) => ({ activity, atMs: START, seq: index * 2 + line + 1 }));
  });
}

function lines(...activities: Activity[]): Moment[] {
  return activities.map((activity, index) => ({ activity, atMs: START, seq: index + 1 }));
}

function times(count: number, step: (index: number) => Used): Used[] {
  return Array.from({ length: count }, (_, index) => step(index));
}

function judged(moments: Moment[], facts: Partial<Facts> = {}, task = ""): Judgement {
  return judge(moments, task, { ...RUNNING, ...facts });
}

const work = (index: number): Used => ({
  input: `cat file${index}.ts`,
  text: `export const name${"abcdefghij"[index % 10]}${index} = ${"x".repeat(index)}`,
});

describe("an agent that polls", () => {
  const polls = (text: (n: number) => string, count = 24): Used[] =>
    times(count, (n) => ({ input: "sleep 20; tail -n 1 train.log", text: text(n) }));

  it.each<[string, (n: number) => string]>([
    ["epochs", (n) => `epoch ${n + 1}/60 loss ${(2 / (n + 1)).toFixed(4)}`],
    ["jobs", (n) => `${n}/60 jobs done`],
    ["what is left", (n) => `queue: ${400 - n * 7} items left, pid 4711, ${n * 20}.5s elapsed`],
    ["a download", (n) => `[12:00:${10 + n}] model.bin ${(1.5 * n).toFixed(1)} MB of 900 MB`],
    ["a percentage beside noise", (n) => `${n * 3}% cpu ${(n * 37) % 50} rss ${(n * 7919) % 1000}`],
  ])("gets on while a counter moves: %s", (_, text) => {
    expect(judged(used(polls(text)))).toMatchObject({ verdict: "on_track", reasons: [] });
  });

  it.each<[string, (n: number) => string]>([
    ["times", (n) => `2026-11-15T19:00:${10 + n}Z waiting (uptime 3:${10 + n})`],
    ["durations", (n) => `waiting for the lock, ${n * 20}s so far, took ${n}.25 ms`],
    [
      "a pid and a hash",
      (n) => `worker pid ${4000 + n} at 0x${(7000 + n * 31).toString(16)} of ${(n * 7919 + 0xabcdef0).toString(16)}`,
    ],
    ["noise up and down", (n) => `waiting: load ${(n * 37) % 50}`],
    ["a counter that stands", () => "9/60 jobs done"],
  ])("is told when only what always changes does: %s", (_, text) => {
    expect(judged(used(polls(text)))).toMatchObject({ verdict: "blocked" });
  });
});

describe("how a run stands", () => {
  it("R-001.1: a verdict is one of five words, and unknown is said while there is nothing to go by", () => {
    expect(judged([])).toMatchObject({ verdict: "unknown", level: "none", confidence: 0, cause: null, reasons: [] });
    expect(judged(used(times(2, work))).verdict).toBe("unknown");
    expect(judged(used(times(4, work)))).toMatchObject({ verdict: "on_track", level: "none", confidence: 0.5 });
  });

  it("one that could not be started is blocked, with the words of its failure", () => {
    const { verdict, cause, reasons } = judged([], { phase: "launch_failed", why: "claude: command not found" });
    expect({ verdict, cause }).toEqual({ verdict: "blocked", cause: "never_started" });
    expect(reasons[0]).toMatchObject({ level: "alert", evidence: { seq: null, quote: "claude: command not found" } });
  });

  it("one that failed is blocked; one that was stopped is not; one that is completed is on track", () => {
    const moments = used(times(4, work));
    expect(judged(moments, { phase: "drained", outcome: "failed", why: "It failed." }).cause).toBe("failed");
    expect(judged(moments, { phase: "drained", outcome: "stopped" }).verdict).toBe("unknown");
    expect(judged(moments, { phase: "archived", outcome: "completed" }).verdict).toBe("on_track");
  });

  it("one that is held or stopped by a signal is blocked", () => {
    const hold = { why: "disk", since: "2026-11-15T19:00:00Z" } as const;
    expect(judged(used(times(4, work)), { hold }).cause).toBe("held");
    expect(judged(used(times(4, work)), { process: { ...IDLE, stopped: true } }).cause).toBe("held");
  });
});

it("trouble that its stderr alone tells counts until its stream goes on", () => {
  const judge = new Judge("Mend the parser");
  const retry: TroubleActivity = {
    kind: "trouble",
    trouble: "rate_limit",
    text: "Attempt 3 failed with status 429",
    status: 429,
    resets_at: null,
    fatal: false,
  };
  judge.add({ kind: "started", session: "s", model: "m" }, START, 1);
  for (let i = 0; i < 3; i++) judge.hear(retry);
  expect(judge.verdict(RUNNING)).toMatchObject({ verdict: "unknown", level: "watch" });
  expect(judge.verdict({ ...RUNNING, nowMs: START + 60_000 })).toMatchObject({
    verdict: "blocked",
    cause: "rate_limit",
    reasons: [{ rule: "trouble", value: 3, evidence: { seq: null, quote: retry.text } }, { rule: "model_silent" }],
  });
  judge.add({ kind: "said", text: "Here I am" }, START, 2);
  expect(judge.verdict(RUNNING)).toMatchObject({ verdict: "unknown", reasons: [] });
});

describe("silence", () => {
  const started: Activity = { kind: "started", session: "s", model: "m" };
  const after = (seconds: number): Partial<Facts> => ({ nowMs: START + seconds * 1000, process: IDLE });

  it("no first line: worth a look after 20 s, told when no healthy wait is that long", () => {
    expect(judged([], after(19)).level).toBe("none");
    expect(judged([], after(20))).toMatchObject({ verdict: "unknown", level: "watch" });
    expect(judged([], after(150))).toMatchObject({ verdict: "blocked", level: "alert", cause: "no_first_output" });
  });

  it("waiting for the model at zero CPU with no child is a hang after 180 s", () => {
    const busy = used(times(4, work));
    expect(judged(busy, after(149))).toMatchObject({ verdict: "on_track", level: "none" });
    expect(judged(busy, after(179))).toMatchObject({ verdict: "unknown", level: "watch" });
    const told = judged(lines(started), after(180));
    expect(told).toMatchObject({ verdict: "blocked", cause: "model_silent" });
    expect(told.reasons[0]).toMatchObject({ value: 180, threshold: 180, evidence: { seq: { from: 1, to: 1 } } });
  });

  it("of an agent that has done little, the wait for its model is told early, and is not more than a look", () => {
    expect(judged(lines(started), after(19)).level).toBe("none");
    const told = judged(lines(started), after(40));
    expect(told).toMatchObject({ verdict: "unknown", level: "watch", cause: null });
    expect(told.reasons).toMatchObject([
      { rule: "model_silent", evidence: { quote: "waits for its model, silent for 40 s; its processes do nothing" } },
    ]);
  });

  it("is not told as a hang where something works or nobody looked", () => {
    for (const process of [null, { ...IDLE, cpu: 0.5 }, { ...IDLE, children: 1 }]) {
      expect(judged(lines(started), { ...after(600), process })).toMatchObject({ verdict: "unknown", level: "watch" });
    }
  });

  it("a tool may be silent far longer than the model", () => {
    const tool: Activity = { kind: "tool", id: "1", name: "Bash", input: "make", paths: [] };
    expect(judged(lines(started, tool), after(599)).level).toBe("none");
    expect(judged(lines(started, tool), after(1800)).cause).toBe("tool_silent");
    expect(judged(lines(started, tool), { ...after(1800), process: { ...IDLE, cpu: 0.9 } }).verdict).toBe("unknown");
  });

  it("a permission that nobody gives blocks at once; the end of it and a plain command do not", () => {
    const asked: Activity = { kind: "permission", tool: "Bash", denied: false };
    expect(judged(lines(started, asked), after(4)).level).toBe("none");
    expect(judged(lines(started, asked), after(20)).cause).toBe("permission_wait");
    const works = { process: { ...IDLE, children: 1 } };
    expect(judged(lines(started, asked), { ...after(20), ...works }).verdict).toBe("unknown");
    const finished: Activity = { kind: "finished", ok: true, why: null, text: "done" };
    expect(judged([...used(times(4, work)), ...lines(finished)], after(3600)).level).toBe("none");
    expect(judged(lines({ kind: "said", text: "building" }), { ...after(3600), speaks: false }).level).toBe("none");
  });
});

describe("troubles", () => {
  const trouble = (more: Partial<Extract<Activity, { kind: "trouble" }>>): Activity => ({
    kind: "trouble",
    trouble: "rate_limit",
    text: "429",
    status: 429,
    resets_at: null,
    fatal: false,
    ...more,
  });

  it("a retry is worth a look, three in a row are told, and anything good clears them", () => {
    const one = trouble({});
    expect(judged(lines(one))).toMatchObject({ verdict: "unknown", level: "watch" });
    const minute = { nowMs: START + 60_000 };
    expect(judged(lines(one, one, one), minute)).toMatchObject({ verdict: "blocked", cause: "rate_limit" });
    expect(judged(lines(one, one, one), minute)).toMatchObject({ source: "fact", cases: 0 });
    expect(judged(lines(one, one, one, { kind: "said", text: "Good." })).level).toBe("none");
  });

  it("a burst that is over within a minute rings nobody, however many retries it had", () => {
    const overloaded = trouble({ trouble: "overloaded" });
    const judge = new Judge("");
    const levels = Array.from({ length: 16 }, (_, n) => {
      judge.add(n % 8 === 7 ? { kind: "said", text: "Going on." } : overloaded, START + n * 4000, n + 1);
      return judge.verdict({ ...RUNNING, nowMs: START + n * 4000 }).level;
    });
    expect(levels).not.toContain("alert");
    expect(levels).toContain("watch");
  });

  it("a quota tells when it resets; a bad key and a fatal one need no second", () => {
    const resets_at = "2030-01-01T00:00:00.000Z";
    expect(judged(lines(trouble({ trouble: "quota", resets_at })))).toMatchObject({ cause: "quota", resets_at });
    expect(judged(lines(trouble({ trouble: "auth" })))).toMatchObject({ verdict: "blocked", cause: "auth" });
    const fatal = lines(trouble({ trouble: "overloaded", fatal: true }));
    expect(judged(fatal, { phase: "drained", outcome: "failed", why: "529" }).cause).toBe("overloaded");
  });

  it("keys do not reach a quote, wherever they stand", () => {
    const key = ["sk", "ant", "api03", "AbCdEf4gH5IjKlMn6oP7QrSt"].join("-");
    const text = `Error: invalid key ${key}`;
    const told = [
      judged(lines(trouble({ trouble: "auth", text }))),
      judged(used(times(6, () => ({ input: `curl -H "x-api-key: ${key}" host`, text, ok: false })))),
      judged(used(times(8, (index) => ({ input: `try ${index}`, text, ok: false })))),
    ];
    for (const { verdict } of told) expect(verdict).toBe("blocked");
    expect(JSON.stringify(told)).not.toMatch(/sk-ant|AbCdEf|IjKlMn/);
  });
});

describe("getting on", () => {
  it("the same call with the same result: watch, then alert, with the lines", () => {
    const same = times(6, () => ({ input: "cat a.ts", text: "one" }));
    expect(judged(used(same.slice(0, 2))).level).toBe("none");
    expect(judged(used(same.slice(0, 3)))).toMatchObject({ verdict: "on_track", level: "watch" });
    const told = judged(used(same.slice(0, 4)));
    expect(told).toMatchObject({ verdict: "blocked", level: "alert", cause: "repeat" });
    expect(told.reasons[0]).toEqual({
      rule: "repeat",
      level: "alert",
      value: 4,
      threshold: 4,
      evidence: { seq: { from: 1, to: 8 }, quote: "Bash cat a.ts" },
    });
  });

  it("cycles of up to six calls", () => {
    for (const length of [2, 3, 6]) {
      const round = times(length * 3, (index) => ({
        input: `cat ${index % length}.ts`,
        text: `is ${"abcdef"[index % length]}`,
      }));
      expect(judged(used(round)).reasons.map(({ rule }) => rule)).toContain("cycle");
    }
  });

  it("the same error behind other commands, once it shows nothing new beside it", () => {
    const wall = times(8, (index) => ({
      input: `start ${index}`,
      text: `pid ${index}\nError: address already in use :::3000`,
      ok: false,
    }));
    expect(judged(used(wall.slice(0, 4))).level).toBe("none");
    expect(judged(used(wall.slice(0, 5))).reasons.map(({ rule }) => rule)).toContain("same_error");
    expect(judged(used(wall))).toMatchObject({ verdict: "blocked", cause: "same_error", source: "rule" });
    const debugs = times(20, (index) => ({
      input: `python try.py ${index}`,
      text: `a${"bcdefghijklmnopqrstuvwxyz"[index]}\nx${"bcdefghijklmnopqrstuvwxyz"[index]}\ny${"bcdefghijklmnopqrstuvwxyz"[index]}\nTypeError: not a list`,
      ok: false,
    }));
    expect(judged(used(debugs)).level).toBe("none");
  });

  it("steps that show nothing new, however the calls differ", () => {
    const file = work(1).text ?? "";
    const blind = times(9, (index) => ({ name: "Read", input: { file_path: `/copy${index}.ts` }, text: file }));
    expect(judged(used(blind)).reasons.map(({ rule }) => rule)).toContain("no_news");
    expect(judged(used(blind)).verdict).toBe("blocked");
  });

  it("clears on new information", () => {
    const stuck = times(5, () => ({ input: "cat a.ts", text: "one" }));
    const judge = new Judge("");
    const feed = (moments: Moment[]): void => {
      for (const { activity, atMs, seq } of moments) judge.add(activity, atMs, seq);
    };
    feed(used(stuck));
    expect(judge.verdict(RUNNING).level).toBe("alert");
    feed(used(times(1, work)));
    expect(judge.verdict(RUNNING).level).toBe("alert");
    feed(used(times(5, (index) => work(index + 1))));
    expect(judge.verdict(RUNNING)).toMatchObject({ verdict: "on_track", level: "none" });
  });

  it("leaves polling, batches of edits and tests after changes alone", () => {
    const poll = times(8, () => ({ input: "sleep 30; gh run view 7", text: "in progress" }));
    const edits = times(12, (index) => ({ name: "Edit", input: { file_path: `src/${index}.ts` }, text: "updated" }));
    const tests = times(20, (index) =>
      index % 2 === 0
        ? { name: "Edit", input: { file_path: "a.ts", new_string: `v${index}` }, text: "updated" }
        : { input: "npm test", text: "42 passed" },
    );
    for (const steps of [poll, edits, tests]) expect(judged(used(steps)).level).toBe("none");
  });

  it("saying one sentence over and over, in pieces too; a plain command may", () => {
    const again = Array.from(
      { length: 80 },
      (_, index): Activity => ({
        kind: "said",
        text:
          index % 4 === 3
            ? "again now. "
            : (["I will read ", "the configuration ", "file of the server "][index % 4] ?? ""),
      }),
    );
    expect(judged(lines({ kind: "started", session: null, model: null }, ...again)).cause).toBe("same_words");
    expect(judged(lines(...again)).level).toBe("none");
  });

  it("what it works on is said before how it gets on", () => {
    const task =
      "Rename the swappable dependency of ProjectState in the autodetector of migrations for a ForeignKey constraint";
    const other = `grep flux colnames in BinnedTimeSeries; the lightcurve periodogram of TESS folds photometry by barycentric
      epoch, aperture, dilution, detrending and centroid`;
    const away = times(5, (index) => ({ input: `${other} ${"abcde"[index]}`, text: `line ${"abcde"[index]}` }));
    const near = times(13, (index) => ({
      input: `${task} ${"abcdefghijklm"[index]}`,
      text: `ok ${"abcdefghijklm"[index]}`,
    }));
    const same = times(3, () => ({ input: `${other} last`, text: "one" }));
    const told = judged(used([...near, ...away, ...same]), {}, task);
    expect(told).toMatchObject({ verdict: "drifting", level: "watch" });
    expect(told.reasons.map(({ rule }) => rule)).toEqual(["off_task", "repeat", "again"]);
    // Where no step ever shared a word with the task, words tell nothing.
    expect(judged(used([...away, ...times(9, work)]), {}, task).level).toBe("none");
  });

  it("tool uses that are denied in a row", () => {
    const denied: Activity = { kind: "permission", tool: "Bash", denied: true };
    expect(judged(lines(denied, denied, denied))).toMatchObject({ verdict: "blocked", cause: "denied" });
  });

  it("done, and nothing was done", () => {
    const start: Activity = { kind: "started", session: null, model: null };
    const done: Activity = { kind: "finished", ok: true, why: null, text: "All tests pass now." };
    const told = judged(lines(start, done), { phase: "drained", outcome: "completed" });
    expect(told).toMatchObject({ verdict: "unknown", level: "watch" });
    expect(told.reasons[0]).toMatchObject({ rule: "unproven", evidence: { quote: "All tests pass now." } });
  });

  it("thresholds can be others", () => {
    const same = used(times(2, () => ({ input: "cat a.ts", text: "one" })));
    expect(judge(same, "", RUNNING, { repeat: { watch: 2, alert: 2 } }).level).toBe("alert");
  });
});

describe("what is no trouble", () => {
  const quiet = (steps: readonly Used[], task = ""): void => {
    const judge = new Judge(task);
    const levels = used(steps).map(({ activity, atMs, seq }) => {
      judge.add(activity, atMs, seq);
      return judge.verdict(RUNNING).level;
    });
    expect(levels.filter((level) => level !== "none")).toEqual([]);
  };

  it("answers of an API that speak of errors, in one line of JSON or as text", () => {
    const words = ["broker", "lexer", "cursor", "ledger", "socket", "parser", "merger", "worker", "keeper", "router"];
    quiet(
      times(20, (n) => ({
        input: { command: `gh api repos/a/b/issues/${n}` },
        text: `{"number":${n},"title":"Error: ${words[n % 10]} ${n} failed, cannot reopen","labels":["error"],"state":"open"}`,
      })),
    );
    quiet(
      times(20, (n) => ({
        input: { command: `gh api repos/a/b/pulls/${n} --jq .title` },
        text: `fix: error in ${words[n % 10]}${"x".repeat(n)} when the ${words[(n + 3) % 10]} is not found`,
      })),
    );
    quiet(
      times(20, (n) => ({
        name: "mcp__linear__get_issue",
        input: { id: `ENT-${n}` },
        text: `{"id":"ENT-${n}","title":"Unable to ${words[n % 10]}${"y".repeat(n)}: permission denied"}`,
      })),
    );
  });

  it("searches that find nothing, by any tool and with any exit", () => {
    const none = ["", "No matches found", "No files found", "Exit code 1", "[]", "(no output)"];
    quiet(times(30, (n) => ({ name: "Grep", input: { pattern: `word${n}x` }, text: none[n % 6] ?? "" })));
    quiet(times(30, (n) => ({ input: { command: `grep -rn word${n}x src` }, text: "Exit code 1", ok: false })));
    quiet(times(30, (n) => ({ input: { command: `find /place${n} -name java` }, text: "" })));
  });

  it("tests that failed before anything was changed, whatever is changed then", () => {
    const text = (passed: number): string =>
      `--- FAIL: TestOld (0.0${passed % 7}s)\n    old_test.go:9: no network\n2 failed, ${passed} passed in 3.${passed % 7}s`;
    const test = (passed: number): Used => ({ input: { command: "make test" }, text: text(passed), ok: false });
    quiet([
      test(40),
      ...times(40, (n) =>
        n % 2 === 0
          ? {
              name: "Edit",
              input: { file_path: "a.ts", old_string: `v${n}`, new_string: `v${n + 2}` },
              text: "updated",
            }
          : test(40 + (n > 20 ? n : 0)),
      ),
    ]);
  });

  it("looks at what may not be there", () => {
    quiet(
      times(20, (n) => ({
        name: "Read",
        input: { file_path: `/a/${n}.ts` },
        text: `File ${"abcdefghijklmnopqrst"[n]} does not exist.`,
        ok: false,
      })),
    );
    quiet(
      times(20, (n) => ({
        input: { command: `ls dir${n}` },
        text: `ls: dir${n}: No such file or directory`,
        ok: false,
      })).slice(0, 4),
    );
  });

  it("calls that were not made, because one beside them failed or a person said no", () => {
    quiet(
      times(12, (n) => ({
        input: `a${n}`,
        text: "<tool_use_error>Sibling tool call errored</tool_use_error>",
        ok: false,
      })),
    );
    quiet(
      times(12, (n) => ({
        name: "Edit",
        input: `a${n}`,
        text: "The user doesn't want to proceed with this tool use.",
        ok: false,
      })),
    );
  });
});

describe("trouble by behaviour", () => {
  const firstAt = (steps: readonly Used[], level: "watch" | "alert"): number => {
    const judge = new Judge("");
    for (const [at, step] of steps.entries()) {
      for (const { activity, atMs, seq } of used([step])) judge.add(activity, atMs, at * 2 + seq);
      const told = judge.verdict(RUNNING).level;
      if (told === level || told === "alert") return at + 1;
    }
    return -1;
  };
  const edit = (old_string: string, new_string: string): Used => ({
    name: "Edit",
    input: { file_path: "a.ts", old_string, new_string },
    text: `The file a.ts has been updated. Line ${new_string}`,
  });

  it("identical edits are told by the sixth, however their answers differ", () => {
    const same = times(20, (n) => ({ ...edit("one", "two"), text: `updated: now ${"abcdefghijklmnopqrst"[n]} lines` }));
    expect(firstAt(same, "alert")).toBeGreaterThan(2);
    expect(firstAt(same, "alert")).toBeLessThanOrEqual(6);
  });

  it("an edit that is made and taken back; taking one back once is work", () => {
    const flips = times(8, (n) => (n % 2 === 0 ? edit("one", "two") : edit("two", "one")));
    expect(firstAt(flips, "alert")).toBe(4);
    expect(firstAt(flips.slice(0, 2), "watch")).toBe(-1);
    expect(
      firstAt(
        times(30, (n) => edit(`v${n}`, `v${n + 1}`)),
        "watch",
      ),
    ).toBe(-1);
  });

  it("a file that is written to and fro as a whole", () => {
    const flips = times(12, (n) => ({
      name: "Write",
      input: { file_path: "a.ts", content: n % 2 ? "one" : "two" },
      text: `wrote it, ${"abcdefghijkl"[n]}`,
    }));
    expect(firstAt(flips, "alert")).toBe(7);
  });

  it("a tool that is gone, whichever call finds that out", () => {
    for (const text of [
      "ENOENT: no such file or directory, posix_spawn '/opt/claude/2.1.36/claude'",
      "Exit code 127\nbash: line 1: golangci-lint: command not found",
      "sh: 1: javac: not found",
      "Error: No such tool available: mcp__linear__list",
    ])
      expect(
        firstAt(
          times(6, (n) => ({ name: n % 2 ? "Grep" : "Glob", input: `x${n}`, text, ok: false })),
          "alert",
        ),
      ).toBe(4);
  });

  it("one command written in many ways", () => {
    const ways = [
      "make lint",
      "make lint 2>&1",
      "cd /a && make lint | tail -20",
      "time make lint 2>&1 | head -5",
      "(make lint)",
    ];
    expect(
      firstAt(
        ways.map((command) => ({ input: { command, description: `try ${command}` }, text: "0 issues." })),
        "alert",
      ),
    ).toBe(4);
    const others = times(8, (n) => ({ input: { command: `make lint-${n}` }, text: "0 issues." }));
    expect(firstAt(others, "watch")).toBe(5);
    expect(firstAt(others, "alert")).toBe(8);
  });

  it("a test that fails the same way after each edit; fewer failures are another way", () => {
    const rounds = (text: (n: number) => string): Used[] =>
      times(16, (n) =>
        n % 2 === 0
          ? edit(`a${n}`, `b${n}`)
          : {
              input: { command: "go test ./..." },
              text: `--- FAIL: TestA (0.${n}s)\n    a_test.go:4: ${text(n)}`,
              ok: false,
            },
      );
    expect(
      firstAt(
        rounds(() => "got 3, want 4"),
        "watch",
      ),
    ).toBe(6);
    expect(
      firstAt(
        rounds((n) => `got ${n}, want 40`),
        "watch",
      ),
    ).toBe(-1);
  });

  it("a person's next message begins another task: what was tried before is none of it", () => {
    const judge = new Judge("");
    const feed = (moments: Moment[]): void => {
      for (const { activity, atMs, seq } of moments) judge.add(activity, atMs, seq);
    };
    const look = times(3, () => ({ input: "cat a.ts", text: "one" }));
    feed(used(look));
    expect(judge.verdict(RUNNING).level).toBe("watch");
    judge.add({ kind: "note", name: "message_received", text: "And now b" }, START, 7);
    expect(judge.verdict(RUNNING).level).toBe("none");
    feed(used(look.slice(0, 2)));
    expect(judge.verdict(RUNNING).level).toBe("none");
  });
});

describe("a flood", () => {
  const status: Activity = { kind: "note", name: "status" };
  /** The index dates some lines at once, and the newest not yet. */
  const printed = (perSecond: number, seconds: number): Moment[] =>
    Array.from({ length: perSecond * seconds }, (_, i) => ({
      activity: status,
      atMs: i % 100 > 70 ? null : START + Math.ceil((i * 10) / perSecond) * 100,
      seq: i + 1,
    }));
  const end = { nowMs: START + 3000, lastOutputMs: START + 3000 };

  it("of more than 2000 lines a second is a look with the lines that show it, and never more", () => {
    const { level, verdict, reasons } = judged(printed(5000, 3), end);
    expect({ level, verdict }).toEqual({ level: "watch", verdict: "unknown" });
    expect(reasons).toMatchObject([{ rule: "flood", level: "watch", threshold: 2000 }]);
    const [{ value, evidence }] = reasons as [Judgement["reasons"][number]];
    expect(value).toBeGreaterThan(4000);
    expect(value).toBeLessThan(6000);
    expect((evidence.seq?.to ?? 0) - (evidence.seq?.from ?? 0)).toBeGreaterThan(4000);
    expect(judged(printed(1500, 3), end).level).toBe("none");
  });

  it("is over when it prints less or nothing", () => {
    const calm = printed(10, 3).map((one) => ({ ...one, atMs: (one.atMs ?? START) + 4000, seq: one.seq + 15_000 }));
    expect(judged([...printed(5000, 3), ...calm], { nowMs: START + 7000, lastOutputMs: START + 7000 }).level).toBe(
      "none",
    );
    expect(judged(printed(5000, 3), { nowMs: START + 14_000, lastOutputMs: START + 3000 }).level).toBe("none");
  });
});
