/** Other programs rotate the log of an agent that goes on printing. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import type { DoneFact } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import { type Lab, until } from "../support/workspace.ts";

const LINES = 600;
const ALL = Array.from({ length: LINES }, (_, i) => `{"n":${i + 1}}`);

/** An agent that prints a line each 2 ms to stdout and stderr, and waits before the last one until it is told to end. */
async function printing(at: Lab): Promise<RunRecord> {
  const waits = `[ $i -ne ${LINES} ] || until [ -e "${at.folder}/go" ]; do sleep 0.02; done`;
  return at.sh(
    `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); ${waits}; echo "{\\"n\\":$i}"; echo $i >&2; sleep 0.002; done`,
  );
}

/** Follows in the background and gathers the lines. */
function following(at: Lab, agent: string, more: object = {}): { lines: string[]; done: Promise<void> } {
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { raw } of at.open().logs.read(agent, { follow: true, ...more })) lines.push(raw.bytes.toString());
  };
  return { lines, done: read() };
}

async function everyLineOnce(at: Lab, { agent, task }: RunRecord): Promise<void> {
  const lines: string[] = [];
  for await (const { raw } of at.open().logs.read(agent, {})) lines.push(raw.bytes.toString());
  expect(lines).toEqual(ALL);
  expect(await at.open().logs.verify(agent)).toMatchObject({ ok: true, lines: LINES, index: "ok", partial: false });
  const hits: (number | null)[] = [];
  for await (const { seq } of at.open().logs.search('{"n":')) hits.push(seq);
  expect(hits.sort((a, b) => (a ?? 0) - (b ?? 0))).toEqual(ALL.map((_, i) => i + 1));
  const errors: string[] = [];
  for await (const { raw } of at.open().logs.read(agent, { stderr: true })) errors.push(raw.bytes.toString());
  expect(errors).toEqual(ALL.map((_, i) => String(i + 1)));
  expect(existsSync(join(at.root, task))).toBe(true);
}

function told(at: Lab, type: string): number {
  return readFileSync(join(at.root, "events.log"), "utf8").split(`"type":"${type}"`).length - 1;
}

const ROTATED: [string, (at: Lab, log: string) => Promise<void>][] = [
  [
    "rename + create",
    async (_, log) => {
      renameSync(log, `${log}.1`);
      writeFileSync(log, "");
      await until(() => statSync(log).size > 0);
    },
  ],
  [
    "rename + create, ten times",
    async (_, log) => {
      for (let i = 0; i < 10; i++) {
        renameSync(log, `${log}.${i}`);
        writeFileSync(log, "");
        const before = statSync(log).size;
        await until(() => statSync(log, { throwIfNoEntry: false })?.size ?? before > 0);
      }
    },
  ],
  [
    "rename only",
    async (_, log) => {
      renameSync(log, `${log}.1`);
      await until(() => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0);
    },
  ],
  [
    "logrotate, twice, with compression",
    async (at, log) => {
      const config = join(at.folder, "logrotate.conf");
      const errors = join(dirname(log), `${basename(log).replace("_stream.jsonl", "_stderr.log")}`);
      writeFileSync(
        config,
        `"${log}" "${errors}" {\n  rotate 3\n  compress\n  create\n  missingok\n  allowhardlink\n  su root root\n}\n`,
      );
      chmodSync(config, 0o600);
      for (let i = 0; i < 2; i++) {
        const rotated = spawnSync("logrotate", ["-f", "-s", join(at.folder, "logrotate.state"), config]);
        // The keeper may have put the log back in between: then logrotate gives that file another name, or gzip sees it grow; both say so.
        const said = rotated.stderr
          .toString()
          .split("\n")
          .filter(
            (text) =>
              text !== "" &&
              !/already exists, renaming|Compressing program wrote|file size changed while zipping/.test(text),
          );
        expect([rotated.status, said]).toEqual([0, []]);
        await until(() => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0);
      }
      expect(readdirSync(dirname(log)).filter((name) => name.endsWith(".gz")).length).toBeGreaterThan(2);
    },
  ],
];

const NO_LOGROTATE = spawnSync("logrotate", ["--version"]).error !== undefined || process.getuid?.() !== 0;
if (NO_LOGROTATE) console.log("SKIPPED: rotation by logrotate needs that program, and root.");

for (const [how, rotate] of ROTATED)
  it.skipIf(NO_LOGROTATE && how.startsWith("logrotate"))(
    `R-000.27, R-000.37: the log of a living agent is rotated by ${how}: every line once, for all readers`,
    async () => {
      const at = lab();
      const record = await printing(at);
      const [plain, errors] = [following(at, record.agent), following(at, record.agent, { stderr: true })];
      await until(() => plain.lines.length > 30);
      await rotate(at, record.log);
      writeFileSync(join(at.folder, "go"), "");
      await Promise.all([plain.done, errors.done]);
      expect(plain.lines).toEqual(ALL);
      expect(errors.lines).toEqual(ALL.map((_, i) => String(i + 1)));
      await at.workspace.runs.wait([record.agent]);
      await everyLineOnce(at, record);
      expect(at.fact<DoneFact>(record, "done.json")).toMatchObject({ cuts: 0, cut_bytes: 0 });
      expect(at.fact<DoneFact>(record, "done.json")?.restored).toBeGreaterThan(0);
      expect(told(at, "agent.restored")).toBe(1);
    },
  );

it("R-000.27: copy + truncate of a living agent's log: what is cut is counted and told, and all readers go on", async () => {
  const at = lab();
  const script = `echo "first line"; until [ -e "${at.folder}/cut" ]; do sleep 0.02; done; i=0
    while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.002; done; until [ -e "${at.folder}/go" ]; do sleep 0.02; done; echo end`;
  const record = await at.sh(script);
  const { agent, log } = record;
  const { lines, done } = following(at, agent);
  await until(() => lines.length === 1);
  const watched = async (by = at.workspace): Promise<object> => (await by.verdicts.of(agent)).position;
  expect([await watched(), await watched(at.open())]).toMatchObject([{ line: 1 }, { line: 1 }]);
  copyFileSync(log, `${log}.1`);
  truncateSync(log);
  await until(() => told(at, "agent.cut") === 1);
  writeFileSync(join(at.folder, "cut"), "");
  await until(() => lines.length === 301);
  // One that goes on, and one that takes up the place that another had in the file as it was.
  for (const by of [at.workspace, at.open()]) expect(await watched(by)).toMatchObject({ line: 300, offset: 1092 });
  writeFileSync(join(at.folder, "go"), "");
  await done;
  const rest = [...Array.from({ length: 300 }, (_, i) => String(i + 1)), "end"];
  expect(lines).toEqual(["first line", ...rest]);
  await at.workspace.runs.wait([agent]);
  expect((await at.raw(agent)).toString()).toBe(`${rest.join("\n")}\n`);
  expect(await at.open().logs.verify(agent)).toMatchObject({ ok: true, lines: 301, index: "ok" });
  expect(at.fact<DoneFact>(record, "done.json")).toMatchObject({ cuts: 1, cut_bytes: 11, restored: 0, log_lines: 301 });
  expect(readFileSync(`${log}.1`, "utf8")).toBe("first line\n");
});
