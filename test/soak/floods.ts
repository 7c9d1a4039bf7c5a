/** Agents hold all requests and sockets that they get, strangers come back as often as they are closed: a person's stop is served. */
import { flood } from "../support/net/flood.ts";
import { ask, bearer, startUp, tokenOf } from "../support/net/http.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, percentile, type Report, rounds } from "./report.ts";

/** `count` is in stops. */
export function floods(count: number, seed = 1): Promise<Report> {
  return campaign(
    "a person's stops while agents and strangers flood the server",
    count,
    seed,
    async (fail, figures) => {
      const lab = new Lab();
      try {
        const up = await startUp(lab, "--port", "0");
        const held = await flood(lab, up, true);
        figures["follows held"] = held.follows.held;
        figures["sockets held"] = held.sockets.held;
        const headers = bearer(tokenOf(lab));
        const times: number[] = [];
        const pages: number[] = [];
        for (const round of rounds(count)) {
          const { agent } = await lab.run("sleep", "1000");
          const begun = performance.now();
          const body = JSON.stringify({ agents: [agent], grace: "0s" });
          const { status, json } = await ask(up.url, "/api/stop", { method: "POST", headers, body });
          times.push(performance.now() - begun);
          if (status !== 200 || json.items[0]?.verified !== true)
            fail(`stop ${round}: ${status} ${JSON.stringify(json)}`);
          const opened = performance.now();
          const page = await ask(up.url, "/");
          pages.push(performance.now() - opened);
          if (page.status !== 200) fail(`page ${round}: ${page.status}`);
        }
        figures["stops"] = times.length;
        figures["stop, median ms"] = percentile(times, 0.5);
        figures["stop, worst ms"] = percentile(times, 1);
        figures["page, worst ms"] = percentile(pages, 1);
        figures["connections of strangers closed"] = held.closed();
        held.end();
      } finally {
        await lab.end();
      }
    },
  );
}
