import { Writable } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { main } from "../../src/doors/cli/main.ts";
import { operations } from "../../src/operations/index.ts";
import { schemaOf } from "../../src/operations/schema.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";

const RUNS = 4000;
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
/** They serve, wait, or change what is outside the workspace. */
const LEFT_OUT = new Set([
  "up",
  "demo",
  "mcp",
  "mcp install",
  "attach",
  "sync",
  "hosts",
  "drain",
  "wait",
  "nats init",
  "watch",
]);
/** What does not end by itself. */
const ENDLESS = new Set(["follow", "watch"]);

/** No bare hyphen: that reads the input, which is not ours here. */
const WORDS = [
  ...["", " ", "\n", "\0", "x\0y", "+", "=", "*", ".", "/", "@", "%s%n", "\u{1f4a5}", "\ud800", "(((", "a{99999}"],
  ...[
    "../../etc/passwd",
    "/dev/null",
    "/proc/self/mem",
    "a".repeat(5000),
    "x/y",
    "'; true",
    "$(true)",
    "a=b",
    "k=v,k=v",
  ],
  ...[
    "0",
    "1",
    "-1",
    "5",
    "1.5",
    "1e999",
    "NaN",
    "99999999999999999999",
    "1K",
    "-5G",
    "5G",
    "0s",
    "1s",
    "1y",
    "999999d",
  ],
  ...["null", "true", "{", "[]", "__proto__", "constructor", "TASK-x", "now", "2026-13-45", "2026-11-16T00:00:00Z"],
];

it("R-004.19: whatever is typed, the answer is ours and not a fault of midwatch", async () => {
  const at = lab();
  const { agent, task } = await at.sh("seq 1000");
  await at.workspace.runs.wait([agent]);
  const word = fc.constantFrom(...WORDS, agent, task, `${agent}.1`);
  const command = fc.constantFrom(...operations.filter(({ name }) => !LEFT_OUT.has(name))).chain((operation) => {
    const flags = Object.keys(schemaOf(operation).shape)
      .filter((name) => !ENDLESS.has(name))
      .map((name) => `--${name.replaceAll("_", "-")}`);
    const flag = fc.constantFrom(...flags, "--json");
    const given = fc.oneof(
      flag.map((one) => [one]),
      fc.tuple(flag, word).map(([one, value]) => [one, value]),
      fc.tuple(flag, word).map(([one, value]) => [`${one}=${value}`]),
    );
    const wanted = operation.positionals.length;
    // Mostly as many as it takes: else nothing behind the door is met.
    const words = fc.oneof(
      { weight: 4, arbitrary: fc.array(word, { minLength: wanted, maxLength: wanted }) },
      { weight: 1, arbitrary: fc.array(word, { maxLength: wanted + 1 }) },
    );
    const behind =
      operation.passthrough === undefined ? fc.constant([]) : fc.constantFrom([], ["--", "true"], ["--", ""]);
    return fc
      .tuple(words, fc.array(given, { maxLength: 3 }), behind)
      .map(([typed, more, last]) => [...operation.name.split(" "), ...typed, ...more.flat(), ...last]);
  });
  await fc.assert(
    fc.asyncProperty(command, async (argv) => {
      let said = "";
      const sink = new Writable({
        write(part, _, done) {
          if (said.length < 10_000) said += String(part);
          done();
        },
      });
      const env = { ...process.env, HOME: at.folder, MIDWATCH_GRACE: "0s" };
      const io = { stdout: sink, stderr: sink, env, cwd: at.folder, signal: AbortSignal.timeout(patient(20_000)) };
      const code = await main(["--workspace", at.root, ...argv], io);
      expect([0, 1, 2, 3, 4, 5]).toContain(code);
      expect(said).not.toMatch(/INTERNAL|fault in midwatch|^ +at .*:\d+:\d+/m);
    }),
    { numRuns: RUNS, seed: SEED },
  );
});
