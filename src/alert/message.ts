/**
 * What a person gets to read of an event: short, masked, nothing that a terminal or a chat would obey. It is made once, when the
 * event is taken, so that neither the queue nor the file of dead letters ever holds the text as it was.
 */

import { createHash } from "node:crypto";
import { stripVTControlCharacters } from "node:util";
import type { Masker } from "../core/mask/mask.ts";
import { cut, oneLine } from "../core/text/one-line.ts";
import { type JournalEvent, placeId } from "../journal/event.ts";
import { type Severity, severityOf } from "./rules.ts";

export interface Alert {
  /** The event's, which a receiver knows a copy by. */
  id: string;
  type: string;
  severity: Severity;
  title: string;
  text: string;
  timestamp: string;
  actor: string;
  task: string | null;
  agent: string | null;
  /** The event's own, when it is not large. */
  data: unknown;
  /** So many more of the same kind, which get no message of their own. */
  more: number;
  /** Others that there was no room for, by type. */
  rest: Record<string, number> | null;
}

const TEXT_CHARS = 1500;
const WORD_CHARS = 200;
const DATA_CHARS = 2000;
const KEY_CHARS = 200;

/** Masked first and cut afterwards: a cut through a secret would leave a part that nobody recognises. */
export function makeAlert(event: JournalEvent, maskers: readonly Masker[]): Alert {
  const hide = (text: string): string => maskers.reduce((masked, { text: mask }) => mask(masked), text);
  const word = (value: unknown): string => oneLine(plain(hide(String(value))), WORD_CHARS);
  const { id, type, timestamp, task, agent } = event;
  const actor = word(event.actor);
  const whose = agent === undefined ? actor : word(agent);
  return {
    id: HEADER_SAFE.test(id) ? id : placeId("alert", id),
    type,
    severity: severityOf(event),
    title: whose === "midwatch" ? type : `${type}: ${whose}`,
    text: cut(plain(hide(event.content)), TEXT_CHARS),
    timestamp: word(timestamp),
    actor,
    task: task === undefined ? null : word(task),
    agent: agent === undefined ? null : word(agent),
    data: small(maskers.reduce((data, mask) => mask.value(data), event.data)),
    more: 0,
    rest: null,
  };
}
/** Ids of lines from elsewhere may be anything; this one becomes a header. */
const HEADER_SAFE = /^[\w.:-]+$/;

/** Events with the same key are the same news: numbers and long hexadecimal words do not count. */
export function keyOf({ type, agent, actor, text }: Alert): string {
  const said = text
    .toLowerCase()
    .replace(/\b[0-9a-f]{8,}\b|\d+/g, "#")
    .replace(/\s+/g, " ");
  return createHash("sha256")
    .update([type, agent ?? actor, said.slice(0, KEY_CHARS)].join("\0"))
    .digest("base64url")
    .slice(0, 22);
}

/** The text with what it stands for. */
export function fullText({ text, more, rest }: Alert): string {
  const lines = [text];
  if (more > 0) lines.push(`(x ${more} more)`);
  if (rest !== null) {
    const types = Object.entries(rest).map(([type, count]) => `${type} ${count}`);
    const count = Object.values(rest).reduce((sum, one) => sum + one, 0);
    lines.push(`and ${count} more event${count === 1 ? "" : "s"} that came too fast: ${types.join(", ")}`);
  }
  return lines.filter(Boolean).join("\n");
}

/** For a terminal or a notification. */
export function inOneLine(alert: Alert, chars: number): string {
  return oneLine(plain(`${alert.severity}: ${alert.title}: ${fullText(alert)}`), chars);
}

function small(data: unknown): unknown {
  if (data === undefined) return null;
  return JSON.stringify(data).length <= DATA_CHARS ? data : null;
}

function plain(text: string): string {
  return stripVTControlCharacters(text.toWellFormed()).replace(/\r\n?/g, "\n").replace(UNSEEN, "\ufffd");
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
