// A fleet on three NATS servers whose servers, hosts and leaders are killed or stand still. Times are printed, not judged.
import { expect, it } from "vitest";
import { fleetChaos } from "../soak/fleet-chaos.ts";
import { hasNats } from "../support/nats-program.ts";

it.skipIf(!hasNats("current"))(
  "R-003.11, R-003.15: a fleet under 8 faults: nothing acknowledged is lost, nothing is there twice, no line of a deposed leader",
  async () => {
    const { failures, figures } = await fleetChaos(8, 1, 3);
    console.log("faults of a fleet", figures);
    expect(failures).toEqual([]);
    expect(figures["lines of leaders"]).toBeGreaterThan(0);
  },
);
