import { isOver } from "../../core/phase.ts";
import { agentRefs, configFlag, duration } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { listTable } from "../render.ts";
import { whileLive } from "./live.ts";

export const wait: Operation = operation({
  name: "wait",
  summary: "Wait until agents have ended",
  details:
    "Exits 0 when what was waited for has ended and completed, 1 otherwise. Ctrl-C ends the waiting, not the agents. On a terminal a line tells what each of them does, what it has used and what it costs. While it waits, queued agents are started when there is room.",
  positionals: ["agents"],
  input: z.strictObject({
    agents: agentRefs,
    any: z.boolean().describe("Return when the first one has ended").default(false),
    timeout: duration("Give up after this time; exit 1").optional(),
    max_running: configFlag("max_running"),
  }),
  changes: false,
  examples: ["midwatch wait build-1 test-1", "midwatch wait --any --timeout 10m build-1 test-1"],
  run(context, { agents, any, timeout, max_running }) {
    const workspace = workspaceOf(context, { config: { max_running } });
    const options = { any, timeoutMs: timeout, signal: context.signal };
    const ids = agents.map((agent) => workspace.runs.resolve(agent));
    return whileLive(context, workspace, ids, () => workspace.runs.wait(ids, options));
  },
  render: listTable,
  next: (records) => {
    const shown = records.find(({ outcome }) => outcome !== "completed") ?? records[0];
    if (shown === undefined) return undefined;
    return `midwatch logs ${isOver(shown) ? "" : "-f "}${shown.agent}`;
  },
  exitCode: (records) => (records.every(({ phase, outcome }) => isOver({ phase }) && outcome === "completed") ? 0 : 1),
});
