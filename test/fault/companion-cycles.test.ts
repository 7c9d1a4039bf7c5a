import { expect, it } from "vitest";
import { companionCycles } from "../soak/companion-cycles.ts";

// A few, another seed every day; `npm run soak` does two hundred.
it("killed, stopped, replaced by `up`, called by several: each run has its limit, and no companion is left", async () => {
  const { failures, figures, seed } = await companionCycles(9, Math.floor(Date.now() / 86_400_000));
  console.log("companion cycles", figures);
  expect(failures, `seed ${seed}`).toEqual([]);
});
