/**
 * A stand-in for Claude Code that plays a scripted part, told by a word of its prompt. `node actor.ts SPEED` reads the prompt from its
 * input; SPEED divides every pause. For pictures of the dashboard and for tests that need agents with something to say.
 */
import { setTimeout as sleep } from "node:timers/promises";

const speed = Number(process.argv[2] ?? 1);
const usage = {
  input_tokens: 900,
  output_tokens: 240,
  cache_read_input_tokens: 18_000,
  cache_creation_input_tokens: 300,
};
let turn = 0;

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function pause(ms: number): Promise<void> {
  await sleep(ms / speed);
}

function assistant(...content: object[]): void {
  turn++;
  const message = { id: `msg_${turn}`, model: "claude-haiku-4-5", role: "assistant", usage, content };
  print({ type: "assistant", request_id: `req_${turn}`, message });
}

async function say(text: string): Promise<void> {
  assistant({ type: "text", text });
  await pause(900);
}

async function use(name: string, input: object, result: string, ok = true): Promise<void> {
  const id = `toolu_${turn}`;
  assistant({ type: "tool_use", id, name, input });
  await pause(700);
  const content = [{ type: "tool_result", tool_use_id: id, content: result, ...(ok ? {} : { is_error: true }) }];
  print({ type: "user", message: { role: "user", content } });
  await pause(500);
}

function finish(ok: boolean, result: string, permission_denials: object[] = []): void {
  const total_cost_usd = 0.0421 * turn;
  print({
    type: "result",
    subtype: ok ? "success" : "error_during_execution",
    is_error: !ok,
    result,
    total_cost_usd,
    usage,
    num_turns: turn,
    permission_denials,
  });
}

const FILES = ["scanner", "literals", "operators", "comments", "templates", "numbers", "strings", "regexp"];

async function port(): Promise<void> {
  await say(
    "I'll port the parser in small steps: first read how the **old tokenizer** is called, then replace it file by file and keep the tests green after each step.",
  );
  for (let round = 0; ; round++) {
    const file = FILES[round % FILES.length] as string;
    await use(
      "Read",
      { file_path: `/repo/src/parser/${file}.ts` },
      `1  import { Tokenizer } from "../tokenizer.ts";\n2  \n3  export function ${file}(source: string): Node[] {\n4    const tokens = new Tokenizer(source).all();\n5    return parse(tokens, ${round});\n6  }`,
    );
    await use(
      "Edit",
      {
        file_path: `/repo/src/parser/${file}.ts`,
        old_string: `const tokens = new Tokenizer(source).all();\nreturn parse(tokens, ${round});`,
        new_string: `const tokens = scan(source, { from: ${round} });\nfor (const token of tokens) visit(token);\nreturn parse(tokens);`,
      },
      `The file /repo/src/parser/${file}.ts has been updated.`,
    );
    await use(
      "Bash",
      { command: `npm test -- src/parser/${file}.test.ts`, description: "Run the tests of this file" },
      ` ✓ src/parser/${file}.test.ts (${12 + round} tests) ${31 + round} ms\n\n Test Files  1 passed (1)\n      Tests  ${12 + round} passed (${12 + round})\n   Duration  ${412 + round} ms`,
    );
    await say(
      `\`${file}.ts\` uses the new tokenizer now and its ${12 + round} tests pass. ${FILES.length - 1 - (round % FILES.length)} parser files are left.`,
    );
  }
}

async function review(): Promise<void> {
  await say("Reviewing the parser for edge cases: empty input, CRLF, unterminated strings, deep nesting.");
  for (let round = 0; ; round++) {
    await use(
      "Grep",
      { pattern: `unterminated|EOF ${round}`, path: "src/parser" },
      `src/parser/strings.ts:${40 + round}: throw new ParseError("unterminated string");\nsrc/parser/templates.ts:${18 + round}: if (c === EOF) break;`,
    );
    await say(
      `Edge case ${round + 1}: \`templates.ts\` line ${18 + round} stops silently at the end of input. It should report an unterminated template, as \`strings.ts\` does for the parser.`,
    );
    await pause(1500);
  }
}

async function flaky(): Promise<void> {
  await say("Let me run the upload test to see how it fails.");
  for (let round = 0; round < 9; round++) {
    await use(
      "Bash",
      { command: "npm test -- upload.test.ts" },
      "FAIL upload.test.ts > keeps the order of parts\nAssertionError: expected 3 to equal 4\n  at upload.test.ts:88:21",
      false,
    );
    if (round === 4) await say("The test fails in the same way. I will run it once more.");
  }
  for (;;) await pause(60_000);
}

async function quota(): Promise<void> {
  await say("I'll look at what is outdated first.");
  await use(
    "Bash",
    { command: "npm outdated --json" },
    '{"vite":{"current":"8.3.1","latest":"8.3.5"},"hono":{"current":"4.12.0","latest":"4.13.17"}}',
  );
  const resetsAt = Math.floor(Date.now() / 1000) + 2 * 3600;
  for (let i = 0; i < 3; i++) {
    print({ type: "rate_limit_event", rate_limit_info: { status: "rejected", rateLimitType: "five_hour", resetsAt } });
    await pause(800);
  }
  for (;;) await pause(60_000);
}

async function permission(): Promise<void> {
  await say("The migration needs the staging database; I have to ask before I connect to it.");
  assistant({
    type: "tool_use",
    id: "toolu_ask",
    name: "Bash",
    input: { command: "psql $STAGING_URL -f migrations/0042.sql" },
  });
  print({ type: "control_request", request_id: "r1", request: { subtype: "can_use_tool", tool_name: "Bash" } });
  for (;;) await pause(60_000);
}

async function notes(): Promise<void> {
  await use(
    "Bash",
    { command: "git log --oneline v1.4.0..HEAD" },
    "9f2c1ab feat: new tokenizer\n77aa0d1 fix: CRLF in templates\n1b2c3d4 perf: scan without copies",
  );
  await use(
    "Write",
    {
      file_path: "/repo/RELEASE.md",
      content: "# 1.5.0\n\n- A new tokenizer, 3 x faster\n- CRLF in templates is read right\n",
    },
    "File created successfully at: /repo/RELEASE.md",
  );
  await say(
    "The release notes are in `RELEASE.md`:\n\n- a new tokenizer, three times faster\n- CRLF in templates\n\nNothing else changed for users.",
  );
  finish(true, "The release notes of 1.5.0 are written.");
}

async function broken(): Promise<void> {
  await use("Bash", { command: "make schema" }, "make: *** No rule to make target 'schema'.  Stop.", false);
  finish(false, "The schema cannot be generated: the Makefile has no target for it.");
}

async function asking(): Promise<void> {
  await use("Grep", { pattern: "createPool|sqlite" }, "src/store.ts:12: // TODO: choose a database");
  finish(true, "The store can be kept in SQLite or in PostgreSQL.\n\nWhich database should I use? Please tell me.");
}

async function denied(): Promise<void> {
  const input = { command: "npm publish --access public", description: "Publish the package" };
  await use("Read", { file_path: "/repo/package.json" }, '1  { "name": "parser", "version": "1.5.0" }');
  await use("Bash", input, "Claude requested permissions to use Bash, but you haven't granted it yet.", false);
  finish(true, "I could not publish the package: the command was not permitted.", [
    { tool_name: "Bash", tool_use_id: "toolu_1", tool_input: input },
  ]);
}

const PARTS: readonly [RegExp, () => Promise<void>][] = [
  [/port the parser/i, port],
  [/review the parser/i, review],
  [/flaky/i, flaky],
  [/dependencies/i, quota],
  [/migration/i, permission],
  [/release notes/i, notes],
  [/schema/i, broken],
  [/store/i, asking],
  [/publish/i, denied],
];

let prompt = "";
for await (const part of process.stdin) prompt += String(part);
print({
  type: "system",
  subtype: "init",
  session_id: "0b7c2f44-scene",
  model: "claude-haiku-4-5",
  cwd: "/repo",
  tools: ["Bash", "Read", "Edit"],
});
await pause(300);
await (PARTS.find(([word]) => word.test(prompt))?.[1] ?? notes)();
