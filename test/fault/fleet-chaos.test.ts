// A fleet on three NATS servers whose servers, hosts and leaders are killed or stand still. Times are printed, not judged.
import { expect, it } from "vitest";
import { fleetChaos } from "../soak/fleet-chaos.ts";
import { hasNats } from "../support/nats-program.ts";

it.skipIf(!hasNats("current"))(
  "R-003.11, R-003.15: a fleet under 6 faults: nothing acknowledged is lost, nothing is there twice, no line of a deposed leader",
  { timeout: 240_000 },
  async () => {
    const { failures, figures } = await fleetChaos(6, 1, 3);
    console.log("faults of a fleet", figures);
    expect(failures).toEqual([]);
    expect(figures["lines of leaders"]).toBeGreaterThan(0);
    expect(figures["refused by the server"]).toBeGreaterThan(0); // The faults have bitten.
  },
);
