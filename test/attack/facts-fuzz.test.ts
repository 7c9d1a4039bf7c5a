import { expect, it } from "vitest";
import { factFuzz } from "../soak/fact-fuzz.ts";

it("somebody changes any field of any fact of 300 runs: every other run is listed, shown, awaited, reaped and stopped as before", async () => {
  const { failures, figures } = await factFuzz(300);
  console.log(figures);
  expect(failures).toEqual([]);
});
