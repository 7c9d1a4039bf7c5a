import { expect, it } from "vitest";
import { watchKills } from "../soak/watch-kills.ts";

it("R-001.5, R-001.6, R-001.7, R-001.28, R-001.32: killed at random while logs grow, move and are archived: each line counts once", async () => {
  expect((await watchKills(15, 7)).failures).toEqual([]);
});
