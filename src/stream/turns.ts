/** What an agent said, turn by turn, as one conversation of the journal (`run --journal turns`). */
import { maskText } from "../core/mask.ts";
import type { Activity } from "../drivers/driver.ts";
import { placeId } from "../journal/event.ts";
import { Journal } from "../journal/journal.ts";
import { knownHighest } from "../journal/snapshot/snapshot.ts";
import type { LogRecord } from "../log/record.ts";
import { type AuditEvent, audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";

const TEXT_MAX = 20_000;
/** Of a run that says more, the last ones. */
const TURNS_MAX = 1000;

export class Turns {
  readonly #context: Context;
  readonly #name: RunName;
  #told: AuditEvent[] = [];

  constructor(context: Context, name: RunName) {
    this.#context = context;
    this.#name = name;
  }

  take(activities: readonly Activity[], { offset, timestamp }: LogRecord): void {
    const { agent, task, run } = this.#name;
    for (const [i, activity] of activities.entries()) {
      if (activity.kind !== "said" || activity.text.trim() === "") continue;
      this.#told.push({
        // A cleanup that is done twice tells the same turns with the same ids.
        id: placeId("turn", `${agent}.${run}`, `${offset}.${i}`),
        type: "turn",
        actor: agent,
        agent,
        task,
        content: maskText(activity.text.slice(0, TEXT_MAX)),
        data: { run },
        ...(timestamp ? { timestamp } : {}),
      });
    }
    if (this.#told.length > 2 * TURNS_MAX) this.#told = this.#told.slice(-TURNS_MAX);
  }

  async tell(): Promise<void> {
    if (this.#told.length === 0) return;
    const { journal, layout } = this.#context;
    const interaction = await new Journal(journal).nextInteraction(knownHighest(layout));
    audit(
      this.#context,
      this.#told.slice(-TURNS_MAX).map((event) => ({ ...event, interaction })),
    );
  }
}
