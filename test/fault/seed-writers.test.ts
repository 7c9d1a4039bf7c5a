import { expect, it } from "vitest";
import { seedWriters } from "../soak/seed-writers.ts";

it("R-003.2, R-003.4, R-003.9, R-003.28: the seed's own writers (flock, then echo or printf of 9 KB) beside ours: none lost, none torn, none doubled", async () => {
  const { failures, figures } = await seedWriters(800, 3);
  expect(failures).toEqual([]);
  // Lines did come in between: else this shows nothing.
  expect(figures["lines of ours inside of others"]).toBeGreaterThan(0);
});
