import { KIND_WORDS } from "../../core/state-words.ts";
import type { Needs } from "../../watch/attention.ts";
import { type Operation, operation, type RenderOptions, workspaceOf, z } from "../operation.ts";
import { age, leftWords, paint, table } from "../render.ts";

const SHOWN = 10;
const RUNNING_SHOWN = 3;

export const status: Operation = operation({
  name: "status",
  summary: "Tell who needs you now, why, and what to type; the same as `midwatch` alone",
  details:
    "In this order: lost (its keeper is gone, it may live on), stuck (cannot be ended), held (for want of disk or quota), asks (it waits for an answer), blocked and off track (the watch says so); then what ended within a day: launch_failed, failed, denied (tools were not permitted), gave_up (every tool call failed), limit.",
  input: z.strictObject({}),
  changes: true,
  examples: ["midwatch", "midwatch status --json | jq -r '.needs[].next'"],
  async run(context) {
    using workspace = workspaceOf(context);
    return await workspace.verdicts.needs((count) => context.notice(leftWords(count)));
  },
  render,
  next: ({ needs, running }) =>
    needs[0]?.next ?? (running[0] ? `midwatch logs -f ${running[0].agent}` : 'midwatch run "what it should do"'),
});

const URGENT: readonly string[] = ["lost", "stuck", "asks", "blocked", "off_track"];

function render({ needs, running, queued, ended }: Needs, options: RenderOptions): string {
  const rows = needs
    .slice(0, SHOWN)
    .map(({ need, agent, since, why }) => [
      paint(KIND_WORDS[need], URGENT.includes(need) ? "red" : "yellow", options),
      agent,
      age(since),
      why,
    ]);
  const lines =
    needs.length === 0
      ? [paint("Nobody needs you.", "green", options)]
      : [`${needs.length} ${needs.length === 1 ? "needs" : "need"} you:`, table(rows, options)];
  if (needs.length > SHOWN) lines.push(`... and ${needs.length - SHOWN} more (midwatch ls)`);
  const counts = [`${running.length} ${needs.length > 0 ? "more " : ""}running`];
  if (queued > 0) counts.push(`${queued} queued`);
  if (ended > 0) counts.push(`${ended} ended within a day`);
  const some = running.slice(0, RUNNING_SHOWN).map(({ agent, does }) => [`  ${agent}`, does]);
  return [...lines, `${counts.join(", ")}.`, ...(some.length > 0 ? [table(some, options)] : [])].join("\n");
}
