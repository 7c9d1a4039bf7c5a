import { expect, it } from "vitest";
import { leaseSimulation } from "../../test/soak/lease-simulation.ts";

it("R-003.11, R-003.19: 300 simulated histories of leaders, a consumer and a projector, with delays, losses, doubles, stops, sleeps, crashes and clock jumps", {
  timeout: 120_000,
}, async () => {
  const { failures, figures } = await leaseSimulation(300, 1);
  console.log("simulated", figures);
  expect(failures).toEqual([]);
  // The faults must have bitten, or nothing was shown. A slow machine does fewer histories.
  expect(figures["terms"]).toBeGreaterThan(2 * Number(figures["histories"]));
  if (Number(figures["histories"]) > 50) expect(figures["handled again after a crash"]).toBeGreaterThan(0);
});
