/**
 * When a limit ends, from what an API or a CLI says of it. A time of day or a duration needs the time of the line; a time without
 * a zone is the machine's own, because the CLI that printed it runs here.
 */
import { iso, parseRfc3339 } from "../core/time.ts";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
const DAY_MS = 86_400_000;

const EPOCH = /\|(\d{10})(?:\d{3})?\b/;
const RFC3339 = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/i;
const DURATION =
  /(?:again|retry|resets?|available)(?: again)? (?:in|after)[: ]+((?:~?\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and )?)+)/i;
const PART = /(\d+(?:\.\d+)?)\s*(ms|d|h|m|s)[a-z]*/gi;
const CLOCK =
  /(?:again|resets?|available)(?: again)?(?: at| on)?[: ]+(?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?,?(?: at)? )?(\d{1,2})(?::(\d\d))?\s*([ap]m)?(?: ?\(([A-Za-z_+\-/0-9]+)\)| (UTC|GMT))?/i;

/** ISO 8601 UTC, or null when the text tells no time that can be known. */
export function resetTime(text: string, atMs: number | null): string | null {
  const ms = absolute(text) ?? duration(text, atMs) ?? clock(text, atMs);
  return ms === null ? null : isoOrNull(ms);
}

/** Seconds or milliseconds since 1970: both are found in the wild, and they cannot be confused for another 200 years. */
export function epochTime(value: number | null): string | null {
  if (value === null || value <= 0) return null;
  return isoOrNull(value < 1e11 ? value * 1000 : value);
}

function isoOrNull(ms: number): string | null {
  return Math.abs(ms) <= 8.64e15 ? iso(ms) : null;
}

function absolute(text: string): number | null {
  const epoch = EPOCH.exec(text)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1000;
  const stamp = RFC3339.exec(text)?.[0];
  return stamp === undefined ? null : (parseRfc3339(stamp.replace(/([+-]\d\d)(\d\d)$/, "$1:$2")) ?? null);
}

function duration(text: string, atMs: number | null): number | null {
  const words = DURATION.exec(text)?.[1];
  if (words === undefined || atMs === null) return null;
  let total = 0;
  for (const [, amount, unit] of words.matchAll(PART))
    total += Number(amount) * (UNIT_MS[unit?.toLowerCase() ?? ""] ?? 0);
  return total > 0 ? atMs + total : null;
}

/** "3pm (America/New_York)", "3:28 PM", "Nov 20th, 2026 3:05 PM": the next such time after the line. */
function clock(text: string, atMs: number | null): number | null {
  const match = CLOCK.exec(text);
  if (match === null || atMs === null) return null;
  const [, monthWord, day, year, hourText, minute, half, zoneName, utc] = match;
  // A bare number is no time of day: "resets 5 times".
  if (minute === undefined && half === undefined) return null;
  const hour = half === undefined ? Number(hourText) : (Number(hourText) % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
  if (hour > 23 || Number(minute ?? 0) > 59) return null;
  const zone = utc === undefined ? zoneName : "UTC";
  const now = wall(atMs, zone);
  if (now === null) return null;
  const month = monthWord === undefined ? -1 : MONTHS.indexOf(monthWord.toLowerCase());
  if (monthWord !== undefined && month < 0) return null;
  const date =
    month < 0
      ? { year: now.year, month: now.month, day: now.day }
      : { year: Number(year ?? now.year), month, day: Number(day) };
  const at = (add: { days?: number; years?: number }): number =>
    instant(
      Date.UTC(date.year + (add.years ?? 0), date.month, date.day + (add.days ?? 0), hour, Number(minute ?? 0)),
      zone,
    );
  const first = at({});
  if (first > atMs || year !== undefined) return first;
  return month < 0 ? at({ days: 1 }) : at({ years: 1 });
}

interface Wall {
  year: number;
  month: number;
  day: number;
  /** The wall clock read as if it were UTC. */
  asUtc: number;
}

function wall(ms: number, zone: string | undefined): Wall | null {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      ...(zone === undefined ? {} : { timeZone: zone }),
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return { year, month: month - 1, day, asUtc: Date.UTC(year, month - 1, day, hour, minute, second) };
  } catch {
    return null; // a zone that does not exist, or a time that cannot be
  }
}

/** The instant at which a clock in the zone shows this wall time. Twice, because the offset may change on the way. */
function instant(wallAsUtc: number, zone: string | undefined): number {
  let guess = wallAsUtc;
  for (let round = 0; round < 2; round++) guess += wallAsUtc - (wall(guess, zone)?.asUtc ?? guess);
  return Number.isFinite(guess) ? guess : wallAsUtc + DAY_MS;
}
