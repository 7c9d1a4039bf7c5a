// `opinion-loop.ts WORKSPACE FOLDER URL TOKENS`: rounds of a watch that asks a model, without end, so that it can be killed anywhere.
import { setTimeout as sleep } from "node:timers/promises";
import { asking } from "../model/opinions.ts";

const [root = "", folder = "", url = "", tokens = ""] = process.argv.slice(2);
const watch = asking({ root, folder }, { url }, { tokens_per_hour: tokens, timeout: "2s" });
for (;;) {
  await watch.round();
  await sleep(20);
}
