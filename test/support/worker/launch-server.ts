// `launch-server.ts ROOT`: starts an agent for each message {name, argv} and sends the record, or the error.
import { openWorkspace } from "../../../src/fleet/workspace.ts";

const workspace = openWorkspace({ workspace: process.argv[2] ?? "" });
process.on("message", (message) => {
  workspace.runs.start(message as { name: string; argv: string[] }).then(
    (record) => process.send?.(record),
    (error) => process.send?.({ error }),
  );
});
process.send?.("ready");
