/** The journal that agents and people share, and the views that are made of it. What was acknowledged is durable. */
import { parseAgentId } from "../core/ids.ts";
import { checkpointFile } from "../journal/checkpoint.ts";
import { type ConsumeOptions, consume } from "../journal/consume.ts";
import type { Cursor, Stored } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import type { EventsOptions } from "../journal/journal.ts";
import { isHoused, type Leadership, leadership, watchLeadership } from "../journal/leader.ts";
import { resumeAll } from "../journal/pause.ts";
import type { SnapshotReport } from "../journal/snapshot/project.ts";
import { isLeadersBeat } from "../journal/term.ts";
import { type CheckpointRecord, checkpoint } from "../messages/checkpoint.ts";
import {
  initScripts,
  logEvent,
  type NewEvent,
  readEvents,
  snapshot,
  snapshotRounds,
  watchSnapshot,
} from "../messages/journal.ts";
import { assertPerson } from "../workspace/caller.ts";
import { HoldsContext } from "./holds-context.ts";

export class SharedJournal extends HoldsContext {
  /** Appends an event; durable when it resolves. */
  append(input: NewEvent): Promise<JournalEvent> {
    return logEvent(this.acting, input);
  }

  /** The journal from a cursor on; "end" is what comes from now on. The cursor behind each event leads to the next. */
  async *from(cursor: Cursor | "end" | undefined, signal: AbortSignal): AsyncGenerator<Stored> {
    const { journal } = this.context;
    const after = cursor === "end" ? await journal.tail(0) : cursor;
    for await (const item of journal.read({ after, follow: true, signal }))
      if (!("bad" in item) && !isLeadersBeat(item.event)) yield item;
  }

  /** The journal, in its order, as it was read: each event with its place. */
  events(options: EventsOptions = {}): AsyncGenerator<Stored> {
    return readEvents(this.context, options);
  }

  /** Brings communication.md and archive.md up to date. */
  snapshot(options: { rebuild?: boolean | undefined } = {}): Promise<SnapshotReport> {
    return snapshot(this.acting, options);
  }

  /** For a loop: each call brings them up to date when the journal has changed; one that cannot is done by the next. */
  snapshotRounds(): () => Promise<void> {
    return snapshotRounds(this.acting);
  }

  /** Again and again, whenever the journal has changed. */
  watchSnapshot(signal: AbortSignal): AsyncGenerator<SnapshotReport> {
    return watchSnapshot(this.acting, signal);
  }

  /** Puts the shell scripts of the journal into the project; gives their paths. */
  initScripts(): string[] {
    assertPerson(this.acting, "put scripts into the project");
    return initScripts(this.context);
  }

  /** The last interaction that an agent handled, null when there is none; with `interaction`, sets it. */
  checkpoint(agent: string, interaction?: number): CheckpointRecord {
    return checkpoint(interaction === undefined ? this.context : this.acting, parseAgentId(agent), interaction);
  }

  /** Hands the events to an agent, each at least once and in order, from behind its checkpoint. */
  consume(agent: string, handle: (event: JournalEvent) => unknown, options: ConsumeOptions = {}): Promise<number> {
    const { engine, layout: paths } = this.acting;
    return consume(engine, checkpointFile(paths, parseAgentId(agent)), handle, options);
  }

  /** Who leads, as one look can tell. */
  leader(): Promise<Leadership> {
    return leadership(this.context.engine);
  }

  /** Whether a `midwatch up` or the companion leads, and so does the rounds. */
  async isHoused(): Promise<boolean> {
    return isHoused(await this.leader());
  }

  /** Again whenever it changes. */
  watchLeader(signal: AbortSignal): AsyncGenerator<Leadership> {
    return watchLeadership(this.context.engine, signal);
  }

  /** Lets those go on that paused after a write error and wait for a person; gives their names. */
  resume(): Promise<string[]> {
    assertPerson(this.acting, "end a pause");
    return resumeAll(this.context.engine);
  }
}
