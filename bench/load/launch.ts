// `launch.ts WORKSPACE SLEEPERS ENDERS END PRINT GO`: starts runs that sleep and runs that end when the file GO is there, says
// which is which, and stays until it is killed.
import { openWorkspace } from "../../src/index.ts";

const [workspacePath = "", sleepers = "0", enders = "0", end = "", print = "", go = ""] = process.argv.slice(2);
const workspace = openWorkspace({ workspace: workspacePath });
const task = workspace.runs.makeTask("take-over").task;
for (let i = 0; i < Number(sleepers) + Number(enders); i++) {
  const sleeps = i < Number(sleepers);
  const side = `${go}.${process.pid}.${i}`;
  const argv = sleeps ? [end, side, "300000", "0"] : [print, "200", "200", "200", side, go];
  const { agent } = await workspace.runs.start({ argv, task });
  console.log(`${sleeps ? "running" : "drained"} ${agent}`);
}
console.log("ready");
setInterval(() => undefined, 1000);
