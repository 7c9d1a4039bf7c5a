import { expect, it } from "vitest";
import { fileKills } from "../soak/file-kills.ts";

it("R-001.7, R-001.12: killed at random while files are rotated, cut and replaced: no line twice, none made up, losses said", async () => {
  expect((await fileKills(4, 7)).failures).toEqual([]);
});
