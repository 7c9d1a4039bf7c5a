/**
 * A reader of files that others write is killed at random while these grow, are renamed, copied and truncated, cut shorter and replaced.
 * No line is handed over twice behind a place that was kept, none is made up, none of a file that is only renamed is missing, and what was
 * seen and gone before it could be read is said.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { CursorRow } from "../../src/registry/registry.ts";
import { pick, random } from "../support/data/random.ts";
import { KINDS, WrittenFile } from "../support/data/written-file.ts";
import { consumed, FileConsumer } from "../support/worker/file-consumer.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

/** More than is read in one look, so that a kill finds some unread. */
const BURST = 450;

/** `count` kills. */
export function fileKills(count: number, seed = 1): Promise<Report> {
  return campaign("kills of a reader of files", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    const out = join(lab.folder, "consumed.jsonl");
    writeFileSync(out, "");
    const files = KINDS.map((kind) => new WrittenFile(join(lab.folder, `${kind}.log`), kind, next));
    const paths = files.map(({ path }) => path);
    const cursorOf = ({ path }: WrittenFile): CursorRow | undefined =>
      lab.workspace.verdicts.positions.all().find(({ log }) => log === path);
    let reader: ChildProcess | undefined;
    try {
      for (const _ of rounds(count)) {
        reader = spawn(process.execPath, [supportFile("worker/file-read-loop.ts"), lab.root, out, ...paths], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        const ended = once(reader, "exit");
        // It says when it has opened the workspace.
        if ((await Promise.race([once(reader.stdout as Readable, "data"), ended.then(() => null)])) === null)
          throw new Error("the reader ended by itself");
        const killAt = performance.now() + next() * 300;
        while (performance.now() < killAt) {
          const file = pick(next, files);
          file.write(Math.floor(next() * 40));
          if (next() < 0.1) file.disturb(cursorOf(file));
          await sleep(next() * 20);
        }
        const file = pick(next, files);
        file.write(BURST);
        await sleep(next() * 10);
        reader.kill("SIGKILL");
        await ended;
        // Nobody reads now: what the place says was seen and not read is lost for certain.
        if (next() < 0.5) file.lose(cursorOf(file));
      }
      for (const file of files) file.finish();
      using last = new FileConsumer(lab.root, out);
      await until(() => !last.look(paths), 60_000, "all is read");
      for (const file of files) check(file, cursorOf(file), handedOver(out, file.path), fail, figures);
    } finally {
      reader?.kill("SIGKILL");
      await lab.end();
    }
  });
}

/** Of what was read from one place more than once, only the last was kept: the earlier readers died before they kept theirs. */
function handedOver(out: string, path: string): string[] {
  const kept = new Map<string, string[]>();
  for (const one of consumed(out)) if (one.path === path) kept.set(one.from, one.lines);
  return [...kept.values()].flat();
}

function check(
  file: WrittenFile,
  cursor: CursorRow | undefined,
  lines: readonly string[],
  fail: (what: string) => void,
  figures: Report["figures"],
): void {
  const { kind } = file;
  const missedBytes = cursor?.missed_bytes ?? 0;
  const seen = new Set(lines);
  if (seen.size !== lines.length) fail(`${kind}: ${lines.length - seen.size} lines twice`);
  const madeUp = lines.filter((line) => !file.written.has(line));
  if (madeUp.length > 0) fail(`${kind}: ${madeUp.length} lines that nobody wrote: ${madeUp[0]?.slice(0, 100)}`);
  // One to which nothing was written has no place yet.
  const counted = cursor?.line ?? 0;
  if (counted !== lines.length) fail(`${kind}: ${counted} lines counted, ${lines.length} handed over`);
  const missing = [...file.written].filter((line) => !seen.has(line));
  const missingBytes = missing.reduce((sum, line) => sum + line.length + 1, 0);
  if (!file.loses && (missing.length > 0 || missedBytes > 0))
    fail(`${kind}: ${missing.length} lines are missing, ${missedBytes} bytes are said to be`);
  if (missedBytes < file.due) fail(`${kind}: ${missedBytes} bytes are said to be missed, but ${file.due} were`);
  if (kind !== "shorter" && missedBytes > missingBytes)
    fail(`${kind}: ${missedBytes} bytes are said to be missed, but only ${missingBytes} are missing`);
  figures[kind] =
    `${lines.length} of ${file.written.size} lines, ${file.changes} changes, ${missedBytes} of ${missingBytes} missing bytes said`;
}
