import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { layout } from "../disk/layout.ts";
import { EmbeddedLog } from "../journal/embedded.ts";
import { makeEvent } from "../journal/event.ts";
import { exportOwn } from "./export.ts";
import type { OriginEvent } from "./line.ts";
import { makeOrigin, readOrigin } from "./origin.ts";

const mask =
  () =>
  <T>(event: T): T =>
    event;

function place() {
  const paths = layout(folder());
  makeOrigin(paths);
  const log = new EmbeddedLog(paths.events);
  const say = (...contents: string[]): Promise<void> =>
    log.append(contents.map((content) => makeEvent({ interaction: 1, actor: "A", type: "note", content })));
  const file = (): string => paths.sync.file(readOrigin(paths)?.origin ?? ("x" as never));
  const lines = (): OriginEvent[] =>
    readFileSync(file(), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as OriginEvent);
  return { paths, log, say, file, lines, go: (max?: number) => exportOwn(paths, log, mask, max) };
}

it("exports what is new, once, with a clock and a number that grow", async () => {
  const { say, go, lines } = place();
  await say("a", "b");
  await go();
  await go();
  await say("c");
  await go();
  expect(lines().map(({ content, lc, n }) => [content, lc, n])).toEqual([
    ["a", 1, 1],
    ["b", 2, 2],
    ["c", 3, 3],
  ]);
});

it("who leads on this machine is not told to others: heartbeats with a term stay here, those of anybody else go out", async () => {
  const { log, say, go, lines } = place();
  const beat = (more: object) => ({
    ...makeEvent({ interaction: 0, actor: "up-1", type: "heartbeat", content: "h" }),
    ...more,
  });
  await log.append([beat({ term: 3 })]);
  await say("a");
  for (let i = 0; i < 3; i++) {
    await log.append([beat({ term: 3 })]);
    await go();
  }
  await log.append([beat({ content: "an agent's" })]);
  await say("b");
  await go();
  await go();
  expect(lines().map(({ content, lc, n }) => [content, lc, n])).toEqual([
    ["a", 1, 1],
    ["an agent's", 2, 2],
    ["b", 3, 3],
  ]);
});

it("goes on behind a torn line of a killed export, and behind everything that came from others", async () => {
  const { paths, say, go, file, lines } = place();
  await say("a", "b");
  await go();
  truncateSync(file(), readFileSync(file()).length - 3);
  writeFileSync(
    paths.sync.file("other-000000" as never),
    `${JSON.stringify({ ...makeEvent({ interaction: 1, actor: "B", type: "note", content: "x" }), lc: 90, n: 1 })}\n`,
  );
  await go();
  expect(lines().map(({ content, lc }) => [content, lc])).toEqual([
    ["a", 1],
    ["b", 91],
  ]);
});

it("a journal that is another one goes out from its beginning, without what is here already", async () => {
  const { paths, log, say, go, lines } = place();
  await say("a", "b");
  await go();
  const [, second = ""] = readFileSync(paths.events, "utf8").split("\n");
  await log.close();
  rmSync(paths.events);
  await say("new");
  appendFileSync(paths.events, `${second}\n`);
  await say("newer");
  await go();
  expect(lines().map(({ content }) => content)).toEqual(["a", "b", "new", "newer"]);
});

it("a file that has become large is followed by another, in the middle of an export too, and the numbers go on", async () => {
  const { paths, say, go, lines } = place();
  await say("a");
  await go(10);
  const first = readOrigin(paths)?.before;
  expect(first).toHaveLength(1);
  await say("x".repeat(1_100_000), "b");
  await go(1_000_000);
  expect(readOrigin(paths)?.before).toEqual([...(first ?? []), expect.any(String)]);
  await say("c");
  await go(1_000_000);
  expect(lines().map(({ content, lc, n }) => [content, lc, n])).toEqual([
    ["b", 3, 3],
    ["c", 4, 4],
  ]);
});
