import { expect, it } from "vitest";
import { journalWriters } from "../soak/journal-writers.ts";

it("R-003.4, R-003.9: 8 Node and 8 shell writers, killed at random: no line damaged, nothing acknowledged lost, no id twice", async () => {
  expect((await journalWriters(2000, 3)).failures).toEqual([]);
});
