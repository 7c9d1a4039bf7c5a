/** Clients without a token that ask for a WebSocket and reset the connection: the server lives and has no socket more than before. */
import { startUp } from "../support/net/http.ts";
import { resetUpgrades } from "../support/net/reset-upgrades.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

export function refusedUpgrades(count: number, seed = 1): Promise<Report> {
  return campaign("refused and reset WebSocket upgrades", count, seed, async (fail, figures) => {
    const lab = new Lab();
    try {
      const { faults, before, after } = await resetUpgrades(await startUp(lab, "--port", "0"), count);
      for (const fault of faults) fail(fault);
      figures["sockets before"] = before;
      figures["sockets after"] = after;
    } finally {
      await lab.end();
    }
  });
}
