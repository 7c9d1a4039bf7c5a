/** Text of events for people. Nothing in an event can look like a marker, a heading or an entry of ours. */

import { MidwatchError } from "../../core/errors.ts";
import { quote } from "../../core/ids.ts";
import { isFields } from "../../core/json.ts";
import { oneLine } from "../../core/text/one-line.ts";
import type { JournalEvent } from "../event.ts";

/** What is shown of an event. */
export type Shown = Pick<JournalEvent, "actor" | "type" | "content" | "timestamp" | "to">;
/** Event type to heading; `{actor}`, `{to}` and `{type}` stand for the event's own. */
export type Headings = Readonly<Record<string, string>>;

export const BEGIN = "<!-- BEGIN COMMUNICATION -->";
export const END = "<!-- END COMMUNICATION -->";

const HEADINGS: Headings = {
  question: "A → B",
  answer: "B → A",
  followup: "A Follow-Up",
  heartbeat: "heartbeat",
};

/** The standard headings with those of midwatch.config.json. */
export function headingsOf(configured: unknown): Headings {
  if (configured === undefined) return HEADINGS;
  const wrong = isFields(configured)
    ? Object.entries(configured).find(([, text]) => typeof text !== "string")
    : ["headings"];
  if (wrong === undefined) return { ...HEADINGS, ...(configured as Headings) };
  throw new MidwatchError(
    "BAD_CONFIG",
    `${quote(wrong[0])} in midwatch.config.json is not a map of types to headings.`,
    {
      hint: 'Write it as {"headings": {"question": "{actor} asks {to}"}}.',
    },
  );
}

/** An interaction in communication.md. `earlier` events of it are in archive.md already. */
export function renderRecent(n: number, events: readonly Shown[], earlier: number, headings: Headings): string {
  const lines = [`### Interaction #${n}`];
  if (earlier > 0) lines.push("", `(${earlier} earlier events of it are in archive.md)`, "");
  for (const event of events) lines.push(`#### ${headingOf(event, headings)}`, ` - ${block(event.content, "   ")}`);
  return `${lines.join("\n")}\n\n`;
}

function headingOf(event: Shown, headings: Headings): string {
  const { actor, type, to } = event;
  const names: Record<string, string> = { actor, type, to: [to ?? "all"].flat().join(", ") };
  const template = Object.hasOwn(headings, type) ? (headings[type] as string) : type;
  return inline(template.replace(/\{(actor|to|type)\}/g, (_, name: string) => names[name] ?? ""));
}

export function renderArchiveHeading(n: number, continued: boolean): string {
  return `## Interaction #${n}${continued ? " (continued)" : ""}\n`;
}

export function renderArchived({ actor, type, timestamp, content }: Shown): string {
  return `- [${inline(actor)} ${type} ${inline(timestamp)}]\n${block(content, "")}\n`;
}

/** In one line. */
function inline(text: string): string {
  return oneLine(plain(text));
}

/** In several, each but the first behind `indent`. */
function block(text: string, indent: string): string {
  const escaped = plain(text).replace(LINE_BREAK, "\n").replace(LIKE_OURS, "$1\\$2");
  return indent === "" ? escaped : escaped.replaceAll("\n", `\n${indent}`);
}
const LINE_BREAK = /\r\n?/g;
/** A heading, what makes one of the line before it, or an entry of the archive. */
const LIKE_OURS = /^([ \t]*)(#|- \[|(?:=+|-+)[ \t]*$)/gm;

/** No HTML, so no marker, and nothing that a viewer would run or load; no image; no character that a terminal obeys, or that turns words round. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replace(/<(?=[a-z/!?])/gi, "&lt;")
    .replaceAll("![", "!\\[")
    .replace(UNSEEN, "\ufffd");
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
