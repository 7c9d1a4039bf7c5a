import { expect, it } from "vitest";
import { stopTrials } from "../soak/stop-trials.ts";

// Thirty on each tier, another seed every day; `npm run soak` does a thousand. A failure names the seed.
it("R-004.2, R-004.3, R-004.4: whatever an agent has started is gone after a stop, and nobody else is", async () => {
  const report = await stopTrials(30, Math.floor(Date.now() / 86_400_000));
  expect(report.failures, `seed ${report.seed}`).toEqual([]);
});
