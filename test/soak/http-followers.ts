/** 200 clients follow 50 busy logs over the WebSocket, one of them without reading: no loss, no repeat, a server that does not grow. */
import { followMany, followThroughKills } from "../support/net/followers.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const CLIENTS = 200;
const LOGS = 50;
const LINES = 200;
/** 10,000 lines a second in all: without a pause the printers and their keepers leave no time to two cores. */
const PAUSE_S = 1;
const GROWN_KB = 400 * 1024;
const MOST_MS = 30 * 60_000;

/** `count` is in bursts of 200 lines from each agent. */
export function httpFollowers(count: number, seed = 1): Promise<Report> {
  return campaign("200 clients follow 50 logs over WebSocket (bursts)", count, seed, async (fail, figures) => {
    const lab = new Lab();
    try {
      const crowd = { logs: LOGS, clients: CLIENTS, bursts: count, lines: LINES, pause: PAUSE_S };
      const { faults, received, grownKb } = await followMany(lab, crowd, MOST_MS);
      for (const fault of faults) fail(fault);
      if (grownKb > GROWN_KB) fail(`the server grew by ${grownKb} KB`);
      figures["lines received"] = received;
      figures["server grew by KB"] = grownKb;
      const kills = Math.max(1, Math.round(count / 20));
      for (const fault of await followThroughKills(lab, { bursts: kills * 60, lines: LINES, kills })) fail(fault);
      figures["kills of the server"] = kills;
    } finally {
      await lab.end();
    }
  });
}
