import { expect, it } from "vitest";
import { RecentIds, WINDOW_BYTES } from "./recent-ids.ts";

it("an id counts as known for 256 KiB behind its last copy, and the memory is bounded by that", () => {
  const ids = new RecentIds();
  expect(ids.add("a", 0)).toBe(true);
  expect(ids.add("a", 100)).toBe(false);
  expect(ids.add("b", WINDOW_BYTES)).toBe(true);
  expect(ids.add("a", WINDOW_BYTES + 100)).toBe(false);
  expect(ids.add("b", 2 * WINDOW_BYTES + 1)).toBe(true);
  expect(ids.add("a", 2 * WINDOW_BYTES + 101)).toBe(true);
});

it("what lies before a cursor counts, whether it is looked for or read", () => {
  const lines = Array.from({ length: 100 }, (_, i) => ({ id: `id-${i}`, seq: i * 100 }));
  const bytes = Buffer.from(JSON.stringify(lines));
  for (const asked of [
    ["new"],
    ["id-3"],
    ["a", "b", "id-99", "a"],
    ['in "quotes"'],
    Array.from({ length: 50 }, (_, i) => `n${i}`),
  ]) {
    const [some, all] = [new RecentIds({ bytes, ids: () => lines }), new RecentIds()];
    for (const { id, seq } of lines) all.add(id, seq);
    const answers = (ids: RecentIds): boolean[] => asked.map((id, i) => ids.add(id, 20_000 + i));
    expect(answers(some)).toEqual(answers(all));
  }
});
