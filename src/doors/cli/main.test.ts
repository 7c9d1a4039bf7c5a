import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { MidwatchError } from "../../core/errors.ts";
import { duration } from "../../operations/fields.ts";
import { z } from "../../operations/input.ts";
import { type Context, type Operation, operation } from "../../operations/operation.ts";
import { main } from "./main.ts";

/** What `run` was given, as its answer. */
const echo: Operation = operation({
  name: "echo",
  summary: "Give back the input",
  details: "For tests.",
  positionals: ["word", "rest"],
  passthrough: "command",
  input: z.strictObject({
    word: z.string().describe("The first word").meta({ value: "WORD" }),
    rest: z.array(z.string()).optional(),
    command: z.array(z.string()).optional(),
    lines: z.number().int().min(1).max(1000).default(100).describe("How many lines").meta({ short: "n", value: "N" }),
    follow: z.boolean().default(false).describe("Go on").meta({ short: "f" }),
    mask: z.boolean().default(true).describe("Hide secrets"),
    tag: z.array(z.string()).optional().describe("A tag"),
    grace_time: duration("How long to wait").default(5000),
    sync: z.enum(["interval", "none"]).optional().describe("When to sync"),
    resume: z.string().optional().describe("Go on with").meta({ value: "MORE", optionalValue: true }),
  }),
  changes: false,
  examples: ["midwatch echo hello"],
  run: (_context, input) => input,
});

const others: Operation[] = [
  operation({
    name: "lose",
    summary: "An answer that is a failure",
    positionals: [],
    input: z.strictObject({}),
    changes: false,
    examples: [],
    run: () => ({ n: 1 }),
    next: ({ n }) => `midwatch show ${n}`,
    exitCode: () => 1,
  }),
  operation({
    name: "list",
    summary: "A list",
    positionals: [],
    input: z.strictObject({}),
    changes: false,
    examples: [],
    run: () => [{ n: 1 }, { n: 2 }],
    render: (rows, { color, width }) => `${rows.length} rows, color ${color}, width ${width}`,
    next: () => "midwatch show 1",
  }),
  operation({
    name: "jsonl tail",
    summary: "A name of two words",
    positionals: ["file"],
    input: z.strictObject({ file: z.string() }),
    changes: false,
    examples: [],
    run: async function* (_context, { file }) {
      yield { file };
      yield { file: `${file}2` };
    },
    render: ({ file }) => file,
    exitCode: ({ file }) => (file.endsWith("2") ? 4 : 1),
  }),
  operation({
    name: "endless",
    summary: "Prints until nobody reads",
    positionals: [],
    input: z.strictObject({}),
    changes: false,
    examples: [],
    run: async function* (context: Context) {
      while (!context.signal.aborted) {
        yield Buffer.from("bytes\n");
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  }),
  operation({
    name: "fail",
    summary: "Fails",
    positionals: ["how"],
    input: z.strictObject({ how: z.enum(["ours", "other"]) }),
    changes: false,
    examples: [],
    run: (_context, { how }): string => {
      if (how === "other") throw new TypeError("oops");
      throw new MidwatchError("NOT_FOUND_AGENT", "There is no agent x.", { hint: "midwatch ls", data: { secret: 1 } });
    },
  }),
  operation({
    name: "context",
    summary: "Tells its context",
    positionals: [],
    input: z.strictObject({}),
    changes: false,
    examples: [],
    run: ({ cwd, workspace, door, notice }) => {
      notice("by the way");
      return { cwd, workspace, door };
    },
  }),
];

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(argv: string[], options: { tty?: boolean; env?: Record<string, string> } = {}): Promise<Result> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const out = Object.assign(stdout, options.tty ? { isTTY: true, columns: 120 } : {});
  const io = { stdout: out, stderr, env: options.env ?? {}, cwd: "/here" };
  const code = await main(argv, io, [echo, ...others]);
  return { code, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

async function echoed(...argv: string[]): Promise<unknown> {
  const { stdout, stderr } = await run(["echo", "w", ...argv, "--json"]);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

/** The message of a refusal with exit code 2. */
async function refusal(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await run([...argv, "--json"]);
  expect([code, stdout]).toEqual([2, ""]);
  const { error } = JSON.parse(stderr);
  expect(error.code).toBe("USAGE");
  return `${error.message} ${error.hint}`;
}

const DEFAULTS = { word: "w", lines: 100, follow: false, mask: true, grace_time: 5000 };

describe("reading flags", () => {
  it("gives each field its default", async () => expect(await echoed()).toEqual(DEFAULTS));

  it.each([
    [["--lines", "7"], { lines: 7 }],
    [["--lines=7"], { lines: 7 }],
    [["-n", "7"], { lines: 7 }],
    [["-fn7"], { lines: 7, follow: true }],
    [["--no-mask"], { mask: false }],
    [["--tag", "a", "--tag", "b"], { tag: ["a", "b"] }],
    [["--grace-time", "250ms"], { grace_time: 250 }],
    [["b", "c"], { rest: ["b", "c"] }],
    [["--resume"], { resume: "" }],
    [["--resume", "more"], { resume: "more" }],
    [["--resume", "--follow"], { resume: "", follow: true }],
    [["--tag=--json"], { tag: ["--json"] }],
  ])("%j", async (argv, wanted) => expect(await echoed(...argv)).toEqual({ ...DEFAULTS, ...wanted }));

  it("passes everything behind -- on as it is", async () => {
    const { stdout, stderr } = await run(["--json", "echo", "w", "--", "sh", "-c", "--json", "--", "x"]);
    expect([JSON.parse(stdout).command, stderr]).toEqual([["sh", "-c", "--json", "--", "x"], ""]);
  });

  it("takes global flags before and behind the command", async () => {
    for (const argv of [
      ["--workspace", "/w", "context", "--json"],
      ["--json", "context", "--workspace=/w"],
    ]) {
      const { stdout, stderr } = await run(argv);
      expect(JSON.parse(stdout)).toEqual({ cwd: "/here", workspace: "/w", door: "cli" });
      expect(stderr).toBe("midwatch: by the way\n");
    }
  });
});

describe("refusing", () => {
  it.each([
    [["ech"], "Did you mean `midwatch echo`?"],
    [["qqqqqqq"], "`midwatch help` lists the commands"],
    [["jsonl", "tial"], "Did you mean `midwatch jsonl tail`?"],
    [["--jsn", "echo"], "Did you mean --json?"],
    [["echo", "w", "--foolow"], "--foolow is not a flag of midwatch echo. Did you mean --follow?"],
    [["echo", "w", "-x"], "-x is not a flag"],
    [["echo", "w", "--lines"], "--lines needs a value (N)"],
    [["echo", "w", "--tag", "--follow"], "--tag needs a value"],
    [["echo", "w", "--follow=yes"], "--follow takes no value"],
    [["echo", "w", "--no-lines"], "--no-lines is not a flag"],
    [["echo", "w", "--lines", "1", "--lines", "2"], "--lines is given twice"],
    [["echo", "w", "--lines", "many"], '--lines: "many" is not a number'],
    [["echo", "w", "--lines", "1.5"], "--lines: 1.5 is not a whole number"],
    [["echo", "w", "--lines", "0"], "--lines: 0 is too small, the least is 1"],
    [["echo", "w", "--lines", "9999"], "--lines: 9999 is too large, the most is 1000"],
    [["echo", "w", "--lines=-5"], "--lines: -5 is too small"],
    [["echo", "w", "--sync", "often"], '--sync: "often" is not one of interval, none'],
    [["echo", "w", "--grace-time", "-5s"], '--grace-time: "-5s" is not a duration'],
    [["echo"], "WORD is missing"],
    [["list", "x"], 'There is one word too many: "x"'],
  ])("%j says: %s", async (argv, text) => expect(await refusal(...argv)).toContain(text));

  it("tells people what, why and what next on stderr", async () => {
    expect(await run(["fail", "ours"])).toEqual({
      code: 3,
      stdout: "",
      stderr: "midwatch: There is no agent x. [NOT_FOUND_AGENT]\n  Next: midwatch ls\n",
    });
  });

  it("tells programs in exactly one object", async () => {
    const { code, stdout, stderr } = await run(["fail", "ours", "--json"]);
    expect([code, stdout]).toEqual([3, ""]);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "NOT_FOUND_AGENT", message: "There is no agent x.", hint: "midwatch ls", retryable: false },
    });
  });

  it("shows where a fault of ours is", async () => {
    const { code, stderr } = await run(["fail", "other"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/oops \[INTERNAL\][\s\S]*main\.test\.ts/);
  });
});

describe("printing", () => {
  it("renders for people and names the next command on stderr", async () => {
    expect(await run(["list"])).toEqual({
      code: 0,
      stdout: "2 rows, color false, width 80\n",
      stderr: "Next: midwatch show 1\n",
    });
  });

  it("names the next command also where it failed", async () => {
    expect(await run(["lose"])).toMatchObject({ code: 1, stderr: "Next: midwatch show 1\n" });
    expect(await run(["lose", "--json"])).toMatchObject({ code: 1, stderr: "" });
  });

  it("prints a list as one object a line, and nothing else, with --json", async () => {
    expect(await run(["list", "--json"])).toEqual({ code: 0, stdout: '{"n":1}\n{"n":2}\n', stderr: "" });
  });

  it("colours only a terminal that wants it", async () => {
    expect((await run(["list"], { tty: true })).stdout).toBe("2 rows, color true, width 120\n");
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }] as Record<string, string>[]) {
      expect((await run(["list"], { tty: true, env })).stdout).toContain("color false");
    }
  });

  it("prints a stream item by item and exits with the worst code", async () => {
    expect(await run(["jsonl", "tail", "a"])).toEqual({ code: 4, stdout: "a\na2\n", stderr: "" });
    expect((await run(["jsonl", "tail", "a", "--json"])).stdout).toBe('{"file":"a"}\n{"file":"a2"}\n');
  });

  it("ends quietly when the reader has gone", async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error("EPIPE"), { code: "EPIPE" })),
    });
    const stderr = new PassThrough();
    const code = await main(["endless"], { stdout: broken, stderr, env: {}, cwd: "/" }, others);
    expect([code, stderr.read()]).toEqual([0, null]);
  });

  it.each(["list", "endless"])("says so when the output meets a full disk: %s", async (command) => {
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" })),
    });
    const stderr = new PassThrough();
    const code = await main([command, "--json"], { stdout: full, stderr, env: {}, cwd: "/" }, others);
    expect([code, JSON.parse(String(stderr.read())).error.code]).toEqual([5, "DISK_FULL"]);
  });
});

describe("help", () => {
  it.each([[[]], [["help"]], [["--help"]], [["-h"]]])("lists the commands: %j", async (argv) => {
    const { code, stdout, stderr } = await run(argv);
    expect([code, stderr]).toEqual([0, ""]);
    for (const { name, summary } of [echo, ...others])
      expect(stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, "m"));
  });

  it.each([[["echo", "--help"]], [["help", "echo"]], [["--help", "echo"]], [["echo", "-h", "--lines", "1"]]])(
    "explains a command: %j",
    async (argv) => {
      const { code, stdout } = await run(argv);
      expect(code).toBe(0);
      expect(stdout).toMatchInlineSnapshot(`
        "Usage: midwatch echo WORD [REST...] [flags] [-- COMMAND...]

        Give back the input.

        For tests.

        Arguments:
          WORD  The first word (required)

        Flags:
          -n, --lines N              How many lines (default 100)
          -f, --follow               Go on
              --[no-]mask            Hide secrets (default true)
              --tag TAG              A tag (repeatable)
              --grace-time DURATION  How long to wait (default 5000)
              --sync interval|none   When to sync
              --resume [MORE]        Go on with
              --json                 Print JSON; of a list one object a line
              --workspace DIR        The workspace (else MIDWATCH_WORKSPACE, else the nearest .agent-workspace upward)
          -h, --help                 Print this help

        Examples:
          midwatch echo hello

        Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 environment (disk, permission, tool missing), 130 interrupted
        "
      `);
    },
  );

  it("is bold on a terminal", async () => {
    expect((await run(["echo", "--help"], { tty: true })).stdout).toContain("\u001b[1mUsage:\u001b[22m midwatch echo");
  });
});

describe("the real table", () => {
  it("prints the version", async () => {
    const stdout = new PassThrough();
    const code = await main(["--version"], { stdout, stderr: new PassThrough(), env: {}, cwd: "/" });
    expect([code, String(stdout.read())]).toEqual([0, expect.stringMatching(/^midwatch \d+\.\d+\.\d+ \(Node /)]);
  });
});
