import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, paint } from "../render.ts";

export const leader: Operation = operation({
  name: "leader",
  summary: "Tell which `midwatch up` leads, in which term, and since when",
  details:
    "state is held, overdue (not renewed in time: another will follow), gone (its process ended), resigned, or none (nobody ever led).",
  input: z.strictObject({
    watch: z.boolean().describe("Go on until Ctrl-C: a line whenever it changes").default(false),
  }),
  changes: false,
  examples: ["midwatch leader", "midwatch leader --watch --json"],
  async *run(context, { watch }) {
    using workspace = workspaceOf(context);
    if (watch) yield* workspace.journal.watchLeader(context.signal);
    else yield await workspace.journal.leader();
  },
  render: ({ state, holder, term, since, pid }, options) =>
    holder === null
      ? "Nobody has led yet. Start one: midwatch up"
      : `${paint(state, state === "held" ? "green" : "yellow", options)}  ${holder}  term ${term}  since ${age(since)}  pid ${pid ?? "-"}`,
  next: ({ state }) => (state === "held" ? "midwatch health" : "midwatch up"),
});
