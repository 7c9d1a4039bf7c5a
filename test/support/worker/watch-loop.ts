// `watch-loop.ts WORKSPACE`: rounds of the watch without end, so that it can be killed anywhere.
import { openWorkspace } from "../../../src/fleet/workspace.ts";

const workspace = openWorkspace({ workspace: process.argv[2] });
const watcher = workspace.verdicts.rounds();
for (;;) {
  const { failed } = await watcher.round();
  for (const { agent, error } of failed) console.error(agent, error);
}
