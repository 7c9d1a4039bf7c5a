import { formatSize } from "../../core/size.ts";
import { syncLine } from "../journal/sync.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, paint, table } from "../render.ts";

const COLORS = { ok: "green", warning: "yellow", failed: "red" } as const;
const ERRORS_SHOWN = 5;

export const health: Operation = operation({
  name: "health",
  summary: "Tell who is alive, who leads, what failed lately, who is paused, and how much room is left",
  details:
    "Exit 1 when something failed: a paused process, a disk below disk_refuse, a journal that cannot be used. Heartbeats are files of our processes and events of the type heartbeat.",
  input: z.strictObject({
    resume: z.boolean().describe("Let those go on that paused after a write error (pause: manual)").default(false),
  }),
  changes: true,
  looks: ({ resume }) => !resume,
  examples: ["midwatch health", "midwatch health --json", "midwatch health --resume"],
  async run(context, { resume }) {
    using workspace = workspaceOf(context);
    if (resume) for (const actor of await workspace.journal.resume()) context.notice(`${actor} may go on.`);
    return await workspace.up.health();
  },
  render: ({ state, leader, alive, paused, errors, disk, snapshot, engine, sync, alerts }, options) =>
    table([
      ["state", paint(state, COLORS[state], options)],
      ["leader", leader.holder === null ? "none" : `${leader.holder} (${leader.state}, term ${leader.term})`],
      ...alive.map((one) => [one.state, `${one.actor}, last ${age(one.last)} ago, since ${age(one.since)}`]),
      ...paused.map((one) => [paint("paused", "red", options), `${one.actor} since ${one.since}: ${one.message}`]),
      ...errors.slice(-ERRORS_SHOWN).map((one) => ["error", `${age(one.timestamp)} ago, ${one.actor}: ${one.content}`]),
      ...alerts.failing.map((route) => [paint("alerts", "yellow", options), `do not arrive at the route ${route}`]),
      ["disk", `${formatSize(disk.free_bytes)} free`],
      ["snapshot", snapshot === null ? "none" : `${age(snapshot.at)} old`],
      ["journal", [engine.engine, ...engine.problems].join("; ")],
      ...(sync === null ? [] : [["sync", syncLine(sync)]]),
    ]),
  next: ({ leader }) => (leader.state === "held" ? undefined : "midwatch up"),
  exitCode: ({ state }) => (state === "failed" ? 1 : 0),
});
