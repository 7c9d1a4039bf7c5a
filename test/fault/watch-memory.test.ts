import { expect, it } from "vitest";
import { watchMemory } from "../soak/watch-memory.ts";

it("what the watch keeps does not grow with what it has read", async () => {
  expect((await watchMemory(8, 7, 3)).failures).toEqual([]);
});
