/**
 * What an agent says, turn by turn, as one conversation of the journal (`run --journal turns`): told by whoever watches it as each turn
 * ends, and by the clean-up where nobody did. The journal itself tells which are there, so each is told once, whoever is killed when.
 */
import { MidwatchError } from "../core/errors.ts";
import { maskText } from "../core/mask/mask.ts";
import { alone } from "../disk/lock.ts";
import { readFact } from "../disk/sealed.ts";
import { createInside } from "../disk/write-inside.ts";
import type { Activity } from "../drivers/driver.ts";
import type { Cursor } from "../journal/engine.ts";
import { placeId } from "../journal/event.ts";
import { Journal } from "../journal/journal.ts";
import { knownHighest } from "../journal/snapshot/snapshot.ts";
import type { LogRecord } from "../log/record.ts";
import { type AuditEvent, audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";

const TURN_MAX = 20_000;

/** turns.json: which conversation it is, and where in this machine's journal it begins. Written before the first of them is told. */
interface TurnsFact {
  v: 1;
  interaction: number;
  after: Cursor | null;
}

export class Turns {
  readonly #context: Context;
  readonly #name: RunName;
  /** By their ids, in their order: those that were not seen in the journal yet. */
  readonly #untold = new Map<string, AuditEvent>();
  #conversation: TurnsFact | undefined;
  /** Up to here the journal was searched for them. */
  #after: Cursor | undefined;

  constructor(context: Context, name: RunName) {
    this.#context = context;
    this.#name = name;
  }

  take(activities: readonly Activity[], { offset, timestamp }: LogRecord): void {
    const { agent, task, run } = this.#name;
    for (const [i, activity] of activities.entries()) {
      if (activity.kind !== "said" || activity.text.trim() === "") continue;
      // Whoever reads the line makes the same id.
      const id = placeId("turn", `${agent}.${run}`, `${offset}.${i}`);
      this.#untold.set(id, {
        id,
        type: "turn",
        actor: agent,
        agent,
        task,
        content: maskText(activity.text).slice(0, TURN_MAX),
        data: { run },
        ...(timestamp ? { timestamp } : {}),
      });
    }
  }

  /** For one who watches; false when another process has the run in hands, or they cannot be written: then again soon. */
  async tellNow(): Promise<boolean> {
    if (this.#untold.size === 0) return true;
    const { layout } = this.#context;
    const { agent, run } = this.#name;
    try {
      await alone(layout, layout.locks.run(agent, run), () => this.tell(), 0);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
    }
    return this.#untold.size === 0;
  }

  /** Under the lock of the run: nobody else tells them meanwhile. */
  async tell(): Promise<void> {
    if (this.#untold.size === 0) return;
    const { interaction } = await this.#begin();
    await this.#drop();
    audit(
      this.#context,
      [...this.#untold.values()].map((event) => ({ ...event, interaction })),
    );
    await this.#drop(); // Those that could not be written stay.
  }

  async #begin(): Promise<TurnsFact> {
    if (this.#conversation !== undefined) return this.#conversation;
    const { own, journal, layout } = this.#context;
    const { task, agent, run } = this.#name;
    const paths = layout.run(task, agent, run);
    let fact = readFact<TurnsFact>(paths, paths.turns);
    if (!Number.isSafeInteger(fact?.interaction)) {
      const after = (await own.tail(0)) ?? null;
      fact = { v: 1, interaction: await new Journal(journal).nextInteraction(knownHighest(layout)), after };
      createInside(layout.root, paths.turns, `${JSON.stringify(fact)}\n`);
    }
    const { after } = fact as TurnsFact;
    if (typeof after === "string" && (await own.holds(after))) this.#after = after;
    this.#conversation = fact;
    return fact as TurnsFact;
  }

  /** Forgets those that the journal has. */
  async #drop(): Promise<void> {
    const { own } = this.#context;
    if (this.#after !== undefined && !(await own.holds(this.#after))) this.#after = undefined; // Another journal.
    for await (const item of own.read({ after: this.#after })) {
      this.#after = item.next;
      if ("event" in item) this.#untold.delete(item.event.id);
    }
  }
}
