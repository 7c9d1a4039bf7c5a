// `launch-at.ts ROOT STEP restart AGENT` or `launch-at.ts ROOT STEP run ARGV...`: starts an agent and stops itself by SIGSTOP at
// STEP of the launch. Sends what came of it.
import { openWorkspace } from "../../../src/fleet/workspace.ts";

const [root = "", at = "", verb = "", ...rest] = process.argv.slice(2);
using workspace = openWorkspace({
  workspace: root,
  config: { grace: "500ms" },
  onStep: (step) => {
    if (step === at) process.kill(process.pid, "SIGSTOP");
  },
});
try {
  process.send?.(
    await (verb === "restart" ? workspace.runs.restart(rest[0]) : workspace.runs.start({ argv: rest, name: "a" })),
  );
} catch (error) {
  process.send?.({ error });
}
