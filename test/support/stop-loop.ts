// `stop-loop.ts PID START_TICKS`: keeps a process standing by SIGSTOP, again and again, until it is gone.
import { readProcess } from "../../src/process/identity.ts";

const [pid = 0, start = 0] = process.argv.slice(2).map(Number);
process.send?.("standing", () => {
  // Without a pause: a SIGCONT must not give it time for a single step.
  while (readProcess(pid)?.start_ticks === start) for (let i = 0; i < 50; i++) process.kill(pid, "SIGSTOP");
});
