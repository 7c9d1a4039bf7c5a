import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { main } from "../../src/doors/cli/main.ts";
import { folder } from "../support/folder.ts";
import { workspaceIn } from "../support/run.ts";

/** What a terminal is told, each time with how often others could run before. */
async function toldBy(cwd: string, ...argv: string[]): Promise<{ text: string; turn: number }[]> {
  const told: { text: string; turn: number }[] = [];
  let turn = 0;
  let immediate = setImmediate(function next(): void {
    turn++;
    immediate = setImmediate(next);
  });
  const stdout = new PassThrough();
  stdout.resume();
  const stderr = Object.assign(new PassThrough(), {
    isTTY: true,
    write: (text: string) => told.push({ text, turn }) > 0,
  });
  try {
    expect(await main(argv, { stdout, stderr, env: process.env, cwd })).toBe(0);
  } finally {
    clearImmediate(immediate);
  }
  return told.filter(({ text }) => /^\r.*\d/.test(text));
}

const MIB = 1 << 20;
const LINE = '{"type":"assistant","text":"some words"}\n';

it.each([
  ["count", "counted"],
  ["verify", "checked"],
])("jsonl %s shows how far it is while it works", async (verb, word) => {
  const place = folder();
  const file = join(place, "big.jsonl");
  writeFileSync(file, LINE.repeat(Math.ceil((200 * MIB) / LINE.length)));
  const told = await toldBy(place, "jsonl", verb, file);
  expect(told).toHaveLength(3);
  for (const { text } of told) expect(text).toContain(word);
  expect(new Set(told.map(({ turn }) => turn)).size).toBe(3);
});

it("archive, restore and verify show how far they are while they work", async () => {
  const place = folder();
  const workspace = workspaceIn(place);
  const { agent } = await workspace.runs.start({ argv: ["sh", "-c", `yes '${LINE.trim()}' | head -c ${80 * MIB}`] });
  await workspace.runs.wait([agent]);
  const seen = async (verb: string): Promise<string[]> => {
    const told = await toldBy(place, verb, agent);
    expect(new Set(told.map(({ turn }) => turn)).size).toBe(told.length);
    return [...new Set(told.map(({ text }) => text.split(" ").at(-1) ?? ""))];
  };
  expect(await seen("verify")).toEqual(["checked"]);
  expect(await seen("archive")).toEqual(["checked", "packed", "compared"]);
  expect(await seen("restore")).toEqual(["unpacked"]);
});
