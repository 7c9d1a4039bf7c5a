import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { follow, type Look } from "./follow.ts";
import { LineIndex } from "./line-index.ts";
import { Log } from "./log.ts";
import { BufferSource } from "./source.ts";

const logOf = (text: string): Log =>
  new Log(new BufferSource(Buffer.from(text)), new LineIndex(), { type: "stdout", json: false });

/** Run 1 has ended and run 2 has begun before the follower looks at all. */
const looks: Record<number, () => Look> = {
  1: () => ({ run: 1, log: logOf("one\n"), live: false, next: 2 }),
  2: () => ({ run: 2, log: logOf("two\n"), live: false, next: undefined }),
};

async function followed(forever: boolean): Promise<string[]> {
  const ending = new AbortController();
  const lines: string[] = [];
  const from = { run: 1, place: { offset: 0, line: 0 } };
  const look = (run: number): Look => (looks[run] as () => Look)();
  for await (const { run, raw } of follow(from, look, { folder: folder(), forever, signal: ending.signal })) {
    lines.push(`${run} ${raw.bytes}`);
    if (run === 2) ending.abort();
  }
  return lines;
}

it("ends with the run, also when the next one has begun already; only `forever` goes on into that", async () => {
  expect(await followed(false)).toEqual(["1 one"]);
  expect(await followed(true)).toEqual(["1 one", "2 two"]);
});
