import { expect, it } from "vitest";
import { snapshotKills } from "../soak/snapshot-kills.ts";

it("R-003.18, R-003.17, R-003.5: killed at each step and at random: files whole, the same as a rebuild, bad lines told once", async () => {
  expect((await snapshotKills(12, 5)).failures).toEqual([]);
});
