import { expect, it } from "vitest";
import { alertKills } from "../soak/alert-kills.ts";

it("R-003.22: killed at each step and at random: every error is in exactly one message, each copy has its id", async () => {
  const { failures, figures } = await alertKills(5, 7);
  expect(failures, JSON.stringify(figures)).toEqual([]);
});
