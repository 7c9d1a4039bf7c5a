import { demo as scenes } from "../../demo/demo.ts";
import { type Operation, operation, z } from "../operation.ts";

export const demo: Operation = operation({
  name: "demo",
  summary: "See it work: scripted agents, verdicts, a killed server, a take-over, a stop with proof",
  details:
    "Seven scripted agents in a folder of its own: one works, the others loop, hang, crash, fork away and talk. It serves the dashboard, tells what the watch makes of them within half a minute, kills its own server and shows that nothing is lost. Then it stays until Ctrl-C, stops everything with the receipt and removes its folder. No key, no network.",
  input: z.strictObject({ once: z.boolean().describe("End by itself, with the receipt").default(false) }),
  changes: true,
  cliOnly: true,
  examples: ["midwatch demo", "midwatch demo --once"],
  run: ({ signal, env, progress }, { once }) =>
    scenes({ once, signal, env: env as NodeJS.ProcessEnv, progress: (text) => progress(text) }),
  render: (line) => line,
});
