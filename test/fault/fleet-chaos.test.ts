// A fleet on three NATS servers whose servers, hosts and leaders are killed, stand still or are cut off. Times are printed, not judged.
import { expect, it } from "vitest";
import { inProcess } from "../soak/in-process.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { patient } from "../support/patience.ts";

it.skipIf(!hasNats("current"))(
  "R-003.11, R-003.15: a fleet under half a minute of faults: nothing acknowledged is lost or there twice, no line of a deposed leader",
  { timeout: patient(400_000) },
  async () => {
    const { failures, figures } = await inProcess("fleetChaos", 30, 1);
    console.log("faults of a fleet", figures);
    expect(failures).toEqual([]);
    expect(figures["lines of leaders"]).toBeGreaterThan(0);
    // The faults have bitten: leaders were followed. Whether a deposed one still tried to write is chance in so few faults.
    expect(figures["terms"]).toBeGreaterThan(1);
  },
);
