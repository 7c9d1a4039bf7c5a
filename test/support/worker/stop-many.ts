// `stop-many.ts ROOT AGENT COUNT PURGE`: COUNT stops of one agent at once, from this process, when it is told to go: their reports, or why one failed.
import { openWorkspace } from "../../../src/fleet/workspace.ts";

const [root = "", agent = "", count = "1", purge = ""] = process.argv.slice(2);
const workspaces = Array.from({ length: Number(count) }, () =>
  openWorkspace({ workspace: root, config: { archive_after: purge === "purge" ? "24h" : 0 } }),
);
process.once("message", async () => {
  const stops = workspaces.map((one) => one.runs.stop([agent], { graceMs: 200, purge: purge === "purge" }));
  const told = await Promise.all(stops).then(
    (all) => all.flat(),
    (error: Error) => String(error.stack ?? error),
  );
  process.send?.(told, () => process.exit(0));
});
process.send?.("ready");
