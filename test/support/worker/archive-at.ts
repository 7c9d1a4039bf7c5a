// `archive-at.ts ROOT archive|restore|stow|reap AGENT STEP NTH`: kills itself by SIGKILL when it comes to STEP for the NTH time.
import { openWorkspace } from "../../../src/fleet/workspace.ts";

const [root = "", verb = "", agent = "", at = "", nth = "1"] = process.argv.slice(2);
let left = Number(nth);
using workspace = openWorkspace({
  workspace: root,
  onStep: (step) => {
    if (step === at && --left === 0) process.kill(process.pid, "SIGKILL");
  },
});
if (verb === "reap") await workspace.runs.reap();
else if (verb === "stow") await workspace.runs.stop([agent], { files: "archive", graceMs: 0 });
else await (verb === "archive" ? workspace.files.archive(agent) : workspace.files.restore(agent));
