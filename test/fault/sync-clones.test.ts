import { expect, it } from "vitest";
import { syncClones } from "../soak/sync-clones.ts";

it("R-003.15: machines that append and sync at once, killed at each step: nothing lost, nothing twice, the same snapshot on all", async () => {
  expect((await syncClones(3, 7)).failures).toEqual([]);
});
