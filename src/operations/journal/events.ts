import { maskValue } from "../../core/mask/mask.ts";
import type { FleetLink, JournalEvent, Stored } from "../../fleet/workspace.ts";
import { time } from "../fields.ts";
import { fleetOf } from "../fleet-of.ts";
import { type Context, type Operation, operation, usage, workspaceOf, z } from "../operation.ts";
import { paint } from "../render.ts";

const LAST = 100;

type Shown = JournalEvent & { seq: number; cursor: string; signed?: boolean };

export const events: Operation = operation({
  name: "events",
  summary: "Read the journal that all agents share",
  details: `The last ${LAST} events by default. A line that is no event is passed over; \`midwatch snapshot\` puts it into events.error.log.`,
  input: z.strictObject({
    follow: z.boolean().describe("Go on printing until Ctrl-C").meta({ short: "f" }).default(false),
    type: z.string().describe("Only events of this type").optional(),
    actor: z.string().describe("Only what this one said").optional(),
    interaction: z.number().int().min(0).describe("Only this conversation").meta({ value: "N" }).optional(),
    since: time("Only events since then: 10m, or 2026-11-15T19:00:00Z").optional(),
    after: z
      .string()
      .describe("Only events behind this cursor (of an event, with --json)")
      .meta({ value: "CURSOR" })
      .optional(),
    all_hosts: z.boolean().describe("Of every host of the fleet, each in its order (docs/scale.md)").default(false),
    lines: z
      .number()
      .int()
      .min(0)
      .max(1e9)
      .describe(`The last N of them (${LAST}; with --since all)`)
      .meta({ short: "n", value: "N" })
      .optional(),
  }),
  changes: false,
  examples: ["midwatch events -f", "midwatch events --type error --since 1h", "midwatch events --interaction 3 --json"],
  run: (context, { follow, type, actor, interaction, since, after, lines, all_hosts }) => {
    if (after !== undefined && lines !== undefined)
      throw usage("--after and --lines exclude each other.", "Leave one of them out.");
    const last = lines ?? (since === undefined && after === undefined ? LAST : undefined);
    const options = { follow, type, actor, interaction, sinceMs: since, last, after, signal: context.signal };
    if (all_hosts) return shown(ofFleet(context, options));
    return shown(
      workspaceOf(context).journal.events({
        ...options,
        onBad: (line, reason) => context.notice(`line ${line ?? "?"} of events.log is not an event (${reason})`),
      }),
    );
  },
  render: ({ timestamp, interaction, actor, type, content, signed }, options) =>
    `${paint(timestamp, "dim", options)} #${interaction} ${clean(actor)} ${type}: ${clean(content)}${
      signed === false ? paint(" (unsigned)", "yellow", options) : ""
    }`,
});

async function* ofFleet(context: Context, options: Parameters<FleetLink["events"]>[0]): AsyncGenerator<Stored> {
  await using fleet = await fleetOf(context);
  yield* fleet.events(options);
}

async function* shown(items: AsyncIterable<Stored>): AsyncGenerator<Shown> {
  for await (const { seq, next, event, signed } of items)
    yield { seq, cursor: next, ...(maskValue(event) as JournalEvent), ...(signed === undefined ? {} : { signed }) };
}

/** For a terminal: in one line, nothing that it obeys. */
function clean(text: string): string {
  return text.replace(/\s+/g, " ").replace(/\p{Cc}/gu, "\ufffd");
}
