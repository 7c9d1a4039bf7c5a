import { expect, it } from "vitest";
import { RecentIds, WINDOW_BYTES } from "./recent-ids.ts";

it("an id counts as known for 1 MiB behind its last copy, and the memory is bounded by that", () => {
  const ids = new RecentIds();
  expect(ids.add("a", 0)).toBe(true);
  expect(ids.add("a", 100)).toBe(false);
  expect(ids.add("b", WINDOW_BYTES)).toBe(true);
  expect(ids.add("a", WINDOW_BYTES + 100)).toBe(false);
  expect(ids.add("b", 2 * WINDOW_BYTES + 1)).toBe(true);
  expect(ids.add("a", 2 * WINDOW_BYTES + 101)).toBe(true);
});
