import { appendFileSync, linkSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { codexRollouts } from "../drivers/codex-rollout.ts";
import { AsideFiles } from "./aside-files.ts";

const NOW = Date.now();
const hex = (ms: number): string => ms.toString(16).padStart(12, "0");
const thread = (n: number, ms = NOW): string => `${hex(ms).slice(0, 8)}-${hex(ms).slice(8)}-7000-8000-00000000000${n}`;
const MAIN = thread(1);
const day = new Date(NOW).toISOString().slice(0, 10).replaceAll("-", "/");
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const meta = (id: string, session: string): string =>
  line({ timestamp: new Date(NOW).toISOString(), type: "session_meta", payload: { id, session_id: session } });
const count = (input: number): string =>
  line({
    timestamp: new Date(NOW + 1).toISOString(),
    type: "token_usage_record",
    payload: { thread_token_usage: { input_tokens: input, output_tokens: 1 } },
  });

/** A home of Codex, and what reads it. */
function home(): { files: AsideFiles; at(id: string): string; sessions: string; used(): number[] } {
  const sessions = join(folder(), "sessions");
  mkdirSync(join(sessions, day), { recursive: true });
  const files = new AsideFiles(codexRollouts, { sinceMs: NOW, cwd: "/", before: null, folder: sessions });
  return {
    files,
    sessions,
    at: (id) => join(sessions, day, `rollout-2026-11-19T21-45-15-${id}.jsonl`),
    used() {
      for (let more = true; more; ) ({ more } = files.read(MAIN));
      const { main, others } = files.used;
      return [main, others].map((all) => all.reduce((sum, { tokens }) => sum + tokens.input, 0));
    },
  };
}

it("reads on as they grow, a line when it is whole, and threads that belong to the session", () => {
  const { files, at, used } = home();
  writeFileSync(at(MAIN), meta(MAIN, MAIN) + count(10) + count(30).slice(0, 40));
  writeFileSync(at(thread(2)), meta(thread(2), MAIN) + count(5));
  writeFileSync(at(thread(3)), meta(thread(3), thread(3)) + count(1000));
  writeFileSync(at(thread(4)), count(1000) + meta(thread(4), MAIN));
  writeFileSync(at(thread(5, NOW - 3_600_000)), meta(thread(5, NOW - 3_600_000), MAIN) + count(1000));
  expect(used()).toEqual([10, 5]);
  expect(files.read(MAIN)).toEqual({ bytes: 0, more: false });
  appendFileSync(at(MAIN), count(30).slice(40));
  expect(files.hasNews(MAIN)).toBe(true);
  expect(used()).toEqual([30, 5]);
  expect(files.used.total).toEqual({ input: 30, output: 1, cache_read: 0, cache_write: 0 });
});

it("passes over lines that are too long, and does not read a file again that was cut", () => {
  const { at, used } = home();
  const long = line({ type: "session_meta", payload: { text: "x".repeat(5 << 20) } });
  writeFileSync(at(MAIN), meta(MAIN, MAIN) + count(10) + long + count(20) + long);
  expect(used()).toEqual([20, 0]);
  truncateSync(at(MAIN), 10);
  expect(used()).toEqual([20, 0]);
});

it("follows no link, to a file or to a folder, and reads nothing but plain files", () => {
  const { at, used } = home();
  const elsewhere = join(folder(), "rollout");
  writeFileSync(elsewhere, meta(MAIN, MAIN) + count(10));
  symlinkSync(elsewhere, at(MAIN));
  mkdirSync(at(thread(2)));
  expect(used()).toEqual([0, 0]);
  const { at: own, used: ownUsed, sessions: linked } = home();
  linkSync(elsewhere, own(MAIN));
  const moved = join(folder(), "moved");
  renameSync(linked, moved);
  symlinkSync(moved, linked);
  expect(ownUsed()).toEqual([0, 0]);
});

it("is silent where there is nothing", () => {
  const files = new AsideFiles(codexRollouts, { sinceMs: NOW, cwd: "/", before: null, folder: "/nowhere/sessions" });
  expect(files.hasNews(null)).toBe(false);
  expect(files.read(MAIN)).toEqual({ bytes: 0, more: false });
  expect(files.used).toEqual({ together: false, total: null, main: [], others: [] });
});
