/** The journal of a workspace, for its callers: who writes, which interaction comes next, and the views made of it. */

import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { placeScripts } from "../disk/place-scripts.ts";
import { knownTask, locate } from "../facts/locate.ts";
import type { Stored } from "../journal/engine.ts";
import type { EventInput, JournalEvent } from "../journal/event.ts";
import { type EventsOptions, Journal } from "../journal/journal.ts";
import { scripts } from "../journal/shell/scripts.ts";
import type { SnapshotReport } from "../journal/snapshot/project.ts";
import { headingsOf } from "../journal/snapshot/render.ts";
import { Change, knownHighest, takeSnapshot } from "../journal/snapshot/snapshot.ts";
import { Waker } from "../log/waker.ts";
import { Maskers } from "../stream/maskers.ts";
import { audit } from "../workspace/audit.ts";
import { assertSelf, callingAgent, refuse } from "../workspace/caller.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { midwatchCommand } from "../workspace/find-command.ts";

export interface NewEvent extends Omit<EventInput, "interaction" | "task" | "agent"> {
  /** "+" is the next free one. */
  interaction: number | "+";
  task?: TaskId | undefined;
  agent?: AgentId | undefined;
}

/** What comes in a burst is rendered together. */
const GATHER_MS = 100;
const POLL_MS = 1000;

/**
 * An agent writes for itself and on its task: its events carry its id as their actor, whatever name it gives itself, and nothing that
 * midwatch or a leader would set. Whoever can write the file can still append any line by hand: what has to be sure is in the facts.
 */
export async function logEvent(context: Context, input: NewEvent): Promise<JournalEvent> {
  const caller = callingAgent(context);
  if (input.agent !== undefined) {
    locate(context, input.agent);
    assertSelf(context, input.agent, "log events of");
  }
  const agent = input.agent ?? caller;
  const listed = agent === undefined ? undefined : withReader(context, (registry) => registry.get(agent));
  const task = input.task === undefined ? listed?.agent.task : knownTask(context, input.task).task;
  if (caller !== undefined && task !== listed?.agent.task) refuse(caller, `log events of the task ${task}`);
  const journal = new Journal(context.journal);
  const interaction =
    input.interaction === "+" ? await journal.nextInteraction(knownHighest(context.layout)) : input.interaction;
  const { type, content, to, cause, data } = input;
  const from = caller === undefined ? input : { actor: caller, type, content, to, cause, data };
  // The journal masks by shape; what a run was given, only its own fingerprints know.
  const hide = agent === undefined ? undefined : new Maskers(context).ofAgent(agent);
  const said = hide === undefined ? from : { ...from, content: hide.text(content), data: hide.value(data) };
  const [event] = await journal.append([{ ...said, interaction, task, agent }], caller !== undefined);
  return event as JournalEvent;
}

export function readEvents(context: Context, options: EventsOptions): AsyncGenerator<Stored> {
  return new Journal(context.journal).events(options);
}

export function snapshot(
  context: Context,
  { rebuild }: { rebuild?: boolean | undefined } = {},
): Promise<SnapshotReport> {
  const { layout, config, headings } = context;
  return takeSnapshot(layout, context.journal, {
    keep: config.snapshot_keep,
    headings: headingsOf(headings),
    rebuild,
  });
}

export async function* watchSnapshot(context: Context, signal: AbortSignal): AsyncGenerator<SnapshotReport> {
  const change = new Change(context.layout.events, context.layout.sync.state);
  const waker = new Waker(context.layout.root, signal);
  try {
    for (let first = true; !signal.aborted; first = false) {
      if (change.seen() || first) yield await snapshot(context);
      await waker.wait(POLL_MS);
      await sleep(GATHER_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    waker.close();
  }
}

/** A view that cannot be written becomes an `error` event, once; rendering rests until it can be written again. */
export function snapshotRounds(context: Context): () => Promise<void> {
  const change = new Change(context.layout.events, context.layout.sync.state);
  let failing = false;
  return async () => {
    if (!change.seen() && !failing) return;
    try {
      await snapshot(context);
      failing = false;
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      if (!failing) audit(context, [{ type: "error", content: `The snapshot cannot be written: ${error.message}` }]);
      failing = true;
    }
  };
}

/** Beside the workspace, in `scripts/`; what is there under the same name is replaced, and kept as .bak when it differs. */
export function initScripts(context: Context): string[] {
  return placeScripts(context.layout.scripts, scripts(midwatchCommand(context)));
}
