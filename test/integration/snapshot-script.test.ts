/** scripts/generate_snapshot.sh where midwatch is not installed: jq and awk come to the same bytes. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { scripts } from "../../src/journal/shell/scripts.ts";
import { headingsOf } from "../../src/journal/snapshot/render.ts";
import { takeSnapshot } from "../../src/journal/snapshot/snapshot.ts";
import { fenced } from "../../src/journal/term.ts";
import { fileOf } from "../support/data/journal.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";

const BIN = "/usr/local/bin:/usr/bin:/bin";
const JQ = execFileSync("sh", ["-c", "command -v jq"], { encoding: "utf8" }).trim();
const NAMES = ["communication.md", "archive.md"] as const;

/** A project with the scripts, and no midwatch anywhere. */
function project(): { place: string; root: string } {
  const place = folder();
  const root = join(place, ".agent-workspace");
  mkdirSync(join(place, "scripts"));
  mkdirSync(root);
  for (const [name, text] of Object.entries(scripts("midwatch")))
    writeFileSync(join(place, "scripts", name), text, { mode: 0o755 });
  return { place, root };
}

function run(place: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): ReturnType<typeof said> {
  return said(place, "generate_snapshot.sh", args, { PATH: BIN, ...env });
}

function said(place: string, script: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  return spawnSync(`./scripts/${script}`, args, { cwd: place, encoding: "utf8", env, timeout: patient(60_000) });
}

/** What `midwatch snapshot` does. */
async function snapshot(root: string, keep = 3): Promise<void> {
  const engine = new EmbeddedEngine(layout(root));
  await takeSnapshot(layout(root), fenced(engine), { keep, headings: headingsOf(undefined) });
  await engine.close();
}

const files = (root: string): string[] => NAMES.map((name) => fileOf(root, name));

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.constant(""),
  fc
    .array(
      fc.constantFrom(
        ...'# |- [|- |===|---|\n|\r\n|\r|\t|<|<b>|<!-- END COMMUNICATION -->|![|{|}|{}|"|\\|ä|🦉| |\u0007|\u2028|\u200b|x|1|[|]|{"v":1,|{"interaction":'.split(
          "|",
        ),
        "|",
        " ",
      ),
    )
    .map((parts) => parts.join("")),
);
const event = fc.record(
  {
    v: fc.constantFrom(1, null),
    id: fc.constantFrom("a", "b", "c", null),
    interaction: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom(9007199254740991, 40, 41)),
    actor: fc.oneof(
      fc.constantFrom("Agent A", "B\tb\u00a0 c", "midwatch"),
      text.filter((one) => one.trim() !== ""),
    ),
    type: fc.constantFrom("question", "answer", "followup", "heartbeat", "note", "error", "x.y", "leader_election"),
    content: text,
    timestamp: fc.constantFrom("2026-11-15T19:00:00Z", "2026-02-28t19:00:00.123+01:00", "2024-02-29"),
    to: fc.constantFrom("B", ["B", "C"], []),
    term: fc.constantFrom(1, "1"),
    data: fc.constantFrom({ v: 1 }, [1, [2]]),
    more: text,
  },
  { requiredKeys: ["interaction", "actor", "type", "content", "timestamp"] },
);
/** What is none, each for another reason. */
const none = fc.oneof(
  fc.constantFrom(
    ...[
      "",
      "  ",
      "text",
      "[1]",
      "{}",
      "{",
      '{"interaction":1,"act',
      '{"v":1,"id":"x","content":"to',
      "null",
      "1 2",
    ].map((line) => Buffer.from(line)),
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    Buffer.from([0xf0, 0x9f, 0xa6]),
  ),
  fc
    .tuple(
      event,
      fc.constantFrom<object>(
        ...[
          { v: 2 },
          { interaction: -1 },
          { interaction: 1.5 },
          { interaction: "1" },
          { interaction: 2 ** 53 },
          { actor: " \u3000" },
        ],
        ...[
          { actor: "x".repeat(201) },
          { actor: "🦉".repeat(101) },
          { type: "No" },
          { type: "a\n" },
          { content: 1 },
          { id: "" },
          { id: 7 },
        ],
        ...[{ timestamp: "2026-02-29T00:00:00Z" }, { timestamp: "now" }, { timestamp: "2026-11-15T25:00:00Z" }],
      ),
    )
    .map(([one, wrong]) => Buffer.from(JSON.stringify({ ...one, ...wrong }))),
);
/** In pieces, with somebody else's line in between. */
const torn = fc
  .tuple(event, event, fc.integer({ min: 30, max: 120 }), fc.boolean(), fc.boolean())
  .map(([one, other, cut, newline, pretty]) => {
    const bytes = Buffer.from(
      JSON.stringify(
        { interaction: 1, actor: "S", type: "note", content: one.content, timestamp: one.timestamp },
        undefined,
        pretty ? 2 : 0,
      ),
    );
    const between = Buffer.from(
      `${newline ? "\n" : ""}${JSON.stringify({ v: 1, id: `o${other.content.length}`, ...other })}\n`,
    );
    return Buffer.concat([bytes.subarray(0, cut), between, bytes.subarray(cut)]);
  });
const whole = event.map((one) => Buffer.from(JSON.stringify(one)));
const journal = fc.array(
  fc.oneof({ weight: 6, arbitrary: whole }, { weight: 2, arbitrary: none }, { weight: 1, arbitrary: torn }),
  { maxLength: 40 },
);

it("R-003.2, R-003.5, R-003.17, R-003.30: jq alone gives the same bytes as `midwatch snapshot`, whatever stands in the journal", async () => {
  const runs = Number(process.env["MIDWATCH_TEST_RUNS"] ?? 20);
  await fc.assert(
    fc.asyncProperty(journal, fc.integer({ min: 1, max: 5 }), async (lines, keep) => {
      const [ours, shell] = [project(), project()];
      writeFileSync(join(ours.root, "events.log"), Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
      await snapshot(ours.root, keep);
      writeFileSync(join(shell.root, "events.log"), readFileSync(join(ours.root, "events.log")));
      const { status, stderr } = run(shell.place, ["--keep", String(keep)]);
      expect([status, stderr.replace(/generate_snapshot.sh: \d+ lines or .*\n/, "")]).toEqual([0, ""]);
      expect(files(shell.root)).toEqual(files(ours.root));
      expect(globSync("**/.snapshot*", { cwd: shell.root })).toEqual([]);
    }),
    { numRuns: runs },
  );
});

it("R-003.2: long interactions, late events and text round the markers come out the same, and nothing is written twice", async () => {
  const [ours, shell] = [project(), project()];
  const line = (interaction: number, content: string): string =>
    `${JSON.stringify({ interaction, actor: "A", type: "note", content, timestamp: "2026-11-15T19:00:00Z" })}\n`;
  const long = Array.from({ length: 1000 }, (_, n) => line(n % 7 === 0 ? 3 : 5, `turn ${n}`)).join("");
  const text =
    line(1, "old") +
    line(2, "x".repeat(60_000)) +
    line(2, "ä→".repeat(300_000)) +
    long +
    line(1, "late") +
    line(9, "new");
  for (const { root } of [ours, shell]) {
    writeFileSync(join(root, "events.log"), text);
    writeFileSync(
      join(root, "communication.md"),
      "mine above\n<!-- BEGIN COMMUNICATION -->\nold\n<!-- END COMMUNICATION -->\nmine below",
    );
  }
  await snapshot(ours.root);
  expect(run(shell.place)).toMatchObject({ status: 0, stderr: "" });
  expect(files(shell.root)).toEqual(files(ours.root));
  expect(fileOf(shell.root, "communication.md")).toMatch(/^mine above\n.*mine below$/s);
  expect(fileOf(shell.root, "communication.md.bak")).toContain("\nold\n");
  const before = NAMES.map((name) => statSync(join(shell.root, name)).ino);
  expect(run(shell.place).status).toBe(0);
  expect(NAMES.map((name) => statSync(join(shell.root, name)).ino)).toEqual(before);
  // midwatch goes on from there, and so does the script from midwatch.
  await snapshot(shell.root);
  expect(files(shell.root)).toEqual(files(ours.root));
});

it("R-003.18: where jq fails, at whichever call, communication.md is whole: it stays, or its last good copy comes back", () => {
  const { place, root } = project();
  const log = (n: number): void => {
    expect(said(place, "log_event.sh", [String(n), "A", "question", `What ${n}?`], { PATH: BIN }).status).toBe(0);
  };
  for (let n = 1; n <= 4; n++) log(n);
  expect(run(place).status).toBe(0);
  log(5);
  expect(run(place).status).toBe(0);
  const [good] = files(root);
  log(6);
  // A jq that fails at its first, second ... call.
  const bin = join(place, "bin");
  mkdirSync(bin);
  for (const how of ["exit 5"])
    for (let call = 1; call <= 4; call++) {
      writeFileSync(join(place, "calls"), "");
      writeFileSync(
        join(bin, "jq"),
        `#!/bin/sh\necho >>${place}/calls\n[ $(wc -l <${place}/calls) -lt ${call} ] || { ${how}; }\nexec ${JQ} "$@"\n`,
        { mode: 0o755 },
      );
      const { status } = run(place, [], { PATH: `${bin}:${BIN}` });
      if (status === 0) continue; // There are no more calls.
      expect([how, call, fileOf(root, "communication.md")]).toEqual([how, call, good]);
    }
  writeFileSync(join(root, "communication.md"), (good ?? "").slice(0, 60));
  writeFileSync(join(bin, "jq"), "#!/bin/sh\nexit 5\n", { mode: 0o755 });
  expect(run(place, [], { PATH: `${bin}:${BIN}` }).status).not.toBe(0);
  expect(fileOf(root, "communication.md")).toBe(fileOf(root, "communication.md.bak"));
  expect(run(place).status).toBe(0);
  expect(fileOf(root, "communication.md")).toContain("What 6?");
});

it("R-003.2: it says what is missing or in the way, and writes nothing then", () => {
  const { place, root } = project();
  expect(run(place, ["--watch"])).toMatchObject({ status: 2, stderr: expect.stringContaining("needs midwatch") });
  expect(run(place, ["--keep", "0"]).status).toBe(2);
  mkdirSync(join(root, "sync"));
  writeFileSync(join(root, "sync/origin.json"), "{}");
  expect(run(place)).toMatchObject({ status: 5, stderr: expect.stringContaining("synced") });
  const other = project();
  symlinkSync("/etc/hostname", join(other.root, "communication.md"));
  expect(run(other.place)).toMatchObject({ status: 5, stderr: expect.stringContaining("symbolic link") });
  expect(existsSync(join(other.root, "archive.md"))).toBe(false);
});
