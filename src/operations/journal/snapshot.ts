import { configFlag } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const snapshot: Operation = operation({
  name: "snapshot",
  summary: "Render the journal: communication.md (recent) and archive.md (older)",
  details:
    "Reads only what is new. Text outside the markers of communication.md stays as it is. Another --keep, or an archive.md that was edited, leads to a rebuild; the archive that was there stays as archive.md.bak. Lines of the journal that are no events go to events.error.log.",
  input: z.strictObject({
    keep: configFlag("snapshot_keep"),
    watch: z.boolean().describe("Go on until Ctrl-C, whenever the journal changes").default(false),
    rebuild: z.boolean().describe("Make everything anew from events.log").default(false),
  }),
  changes: true,
  examples: ["midwatch snapshot", "midwatch snapshot --keep 5", "midwatch snapshot --watch"],
  async *run(context, { keep, watch, rebuild }) {
    using workspace = workspaceOf(context, { config: { snapshot_keep: keep } });
    if (!watch || rebuild) yield await workspace.journal.snapshot({ rebuild });
    if (watch) yield* workspace.journal.watchSnapshot(context.signal);
  },
  render: ({ recent, archived, events, bad_lines }) =>
    `${events} ${events === 1 ? "event" : "events"}: ${recent} ${recent === 1 ? "interaction" : "interactions"} in communication.md, ${archived} in archive.md${bad_lines > 0 ? `, ${bad_lines} bad lines in events.error.log` : ""}`,
  next: () => "midwatch events",
});
