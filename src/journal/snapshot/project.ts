/**
 * The journal folded into a view: the K largest interaction numbers are recent, the others archived, each event in one of the two. What
 * is archived depends on the events alone and not on when anybody looked, so going on from a state gives what a rebuild gives.
 */
import { maskText } from "../../core/mask/mask.ts";
import type { Cursor } from "../engine.ts";
import type { JournalEvent } from "../event.ts";
import { HEARTBEAT } from "../term.ts";
import { type Headings, renderArchived, renderArchiveHeading, renderRecent, type Shown } from "./render.ts";

interface Interaction {
  n: number;
  /** Those that were archived before it: an interaction that goes on and on does not stay whole. */
  earlier: number;
  chars: number;
  events: Shown[];
}

/** Plain data: it is what snapshot.state holds. */
export interface Projection {
  keep: number;
  cursor: Cursor | null;
  /** The id of the first event: tells another journal from this one. */
  first: string | null;
  events: number;
  bad_lines: number;
  highest: number;
  /** In ascending order. */
  recent: Interaction[];
  /** Interactions that have a heading in the archive, as ranges in ascending order. */
  archived: [from: number, to: number][];
  archived_count: number;
  /** The interaction that the archive's last block belongs to; `late`: of events that came behind its time. */
  last: { n: number; late: boolean } | null;
}

/** An interaction of more than this is archived by halves. */
const EVENTS_MAX = 400;
const CHARS_MAX = 1 << 20;
/** Only numbers that leave thousands of holes get there; the lowest holes are then taken for seen. */
const RANGES_MAX = 4096;

export function emptyProjection(keep: number): Projection {
  return {
    keep,
    cursor: null,
    first: null,
    events: 0,
    bad_lines: 0,
    highest: -1,
    recent: [],
    archived: [],
    archived_count: 0,
    last: null,
  };
}

/**
 * Takes one event along; `archive` gets the text that goes to the end of the archive. Heartbeats that follow each other, of one actor in
 * one interaction, are one line; one that comes when its interaction is archived is no reason to go on with it there.
 */
export function fold(projection: Projection, event: JournalEvent, archive: (text: string) => void): void {
  const { recent, keep } = projection;
  const { interaction: n, actor, type, timestamp, to } = event;
  // A line that a script appended was masked by nobody.
  const content = maskText(event.content);
  const shown: Shown = { actor, type, content, timestamp, ...(to === undefined ? {} : { to }) };
  projection.first ??= event.id;
  projection.events++;
  projection.highest = Math.max(projection.highest, n);
  let at = recent.findLastIndex((one) => one.n <= n);
  if (recent[at]?.n !== n) {
    if (recent.length >= keep && at < 0) {
      if (type === HEARTBEAT) return;
      archiveEvents(projection, { n, events: [shown], late: true }, archive);
      return;
    }
    recent.splice(++at, 0, { n, earlier: 0, chars: 0, events: [] });
    if (recent.length > keep) {
      const [oldest] = recent.splice(0, 1) as [Interaction];
      archiveEvents(projection, { ...oldest, late: false }, archive);
      at--;
    }
  }
  const interaction = recent[at] as Interaction;
  const before = interaction.events.at(-1);
  if (type === HEARTBEAT && before?.type === HEARTBEAT && before.actor === actor) return;
  interaction.events.push(shown);
  interaction.chars += content.length;
  if (interaction.events.length > EVENTS_MAX || interaction.chars > CHARS_MAX) halve(projection, interaction, archive);
}

function halve(projection: Projection, interaction: Interaction, archive: (text: string) => void): void {
  const { events } = interaction;
  const out: Shown[] = [];
  const tooMany = (): boolean => events.length > EVENTS_MAX / 2 || interaction.chars > CHARS_MAX / 2;
  while (events.length > 1 && tooMany()) {
    const [first] = events.splice(0, 1) as [Shown];
    interaction.chars -= first.content.length;
    out.push(first);
  }
  interaction.earlier += out.length;
  archiveEvents(projection, { n: interaction.n, events: out, late: false }, archive);
}

function archiveEvents(
  projection: Projection,
  { n, events, late }: { n: number; events: readonly Shown[]; late: boolean },
  archive: (text: string) => void,
): void {
  const { last } = projection;
  if (last?.n !== n || (late && !last.late)) {
    const isNew = mark(projection.archived, n);
    if (isNew) projection.archived_count++;
    archive(`${last === null ? "" : "\n"}${renderArchiveHeading(n, !isNew)}`);
    projection.last = { n, late };
  }
  for (const event of events) archive(renderArchived(event));
}

/** False when it was marked before. */
function mark(ranges: [from: number, to: number][], n: number): boolean {
  const at = ranges.findLastIndex(([from]) => from <= n);
  const below = ranges[at];
  const above = ranges[at + 1];
  if (below !== undefined && n <= below[1]) return false;
  if (below?.[1] === n - 1) {
    below[1] = n;
    if (above?.[0] === n + 1) {
      below[1] = above[1];
      ranges.splice(at + 1, 1);
    }
  } else if (above?.[0] === n + 1) above[0] = n;
  else ranges.splice(at + 1, 0, [n, n]);
  if (ranges.length > RANGES_MAX) {
    const [lowest, second] = ranges as [[number, number], [number, number]];
    ranges.splice(0, 2, [lowest[0], second[1]]);
  }
  return true;
}

/** What stands between the markers of communication.md. */
export function renderCommunication({ recent }: Projection, headings: Headings): string {
  return recent.map(({ n, events, earlier }) => renderRecent(n, events, earlier, headings)).join("");
}

export interface SnapshotReport {
  interactions: number;
  recent: number;
  archived: number;
  events: number;
  bad_lines: number;
  cursor: Cursor | null;
}

export function reportOf({ recent, archived_count, events, bad_lines, cursor }: Projection): SnapshotReport {
  // A recent one whose beginning is archived counts as recent.
  const archived = archived_count - recent.filter(({ earlier }) => earlier > 0).length;
  return { interactions: archived + recent.length, recent: recent.length, archived, events, bad_lines, cursor };
}
