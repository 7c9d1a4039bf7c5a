/** Times are epoch milliseconds inside and ISO 8601 UTC with milliseconds at every edge (files, doors). */
import { parseDuration } from "./duration.ts";
import { MidwatchError } from "./errors.ts";
import { quote } from "./ids.ts";

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?([Zz]|[+-]\d\d:\d\d))?$/;

/** A clock that never jumps and that all processes of one boot share: what decides how old a launch is. */
export function monoMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

let last = { ms: 0, text: "1970-01-01T00:00:00.000Z" };

/** Many events share their millisecond: the text of the last one is kept. */
export function iso(ms: number = Date.now()): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

/** An RFC 3339 time (or a bare date, UTC midnight) in epoch ms, else undefined. 31 February is not a time. */
export function parseRfc3339(text: string): number | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour] = match;
  // Date.parse rolls 31 February over into March, so the day is checked against the calendar first.
  const calendar = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (calendar.getUTCMonth() !== Number(month) - 1 || calendar.getUTCDate() !== Number(day)) return undefined;
  const ms = Date.parse(hour === undefined ? `${text}T00:00:00Z` : text.toUpperCase().replace(" ", "T"));
  return Number.isNaN(ms) ? undefined : ms;
}

/** The value of `--since` and its kin: an RFC 3339 time, or how long ago ("10m"). */
export function parseTime(text: string, nowMs: number = Date.now()): number {
  const trimmed = text.trim();
  const absolute = parseRfc3339(trimmed);
  if (absolute !== undefined) return absolute;
  // A bare number is refused: it could be seconds, milliseconds or a year.
  if (/^\d+(\.\d+)?\s*[a-z]+$/i.test(trimmed)) {
    const ago = nowMs - parseDuration(trimmed);
    if (ago >= 0) return ago;
  }
  throw new MidwatchError("BAD_TIME", `${quote(text)} is not a time.`, {
    hint: "Write a time as 2026-11-15T19:00:00Z, as 2026-11-15, or as how long ago: 10m, 2h, 3d.",
  });
}
