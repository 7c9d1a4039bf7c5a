/**
 * The day and the week of a person: from midnight to midnight by the clock on the wall, and from Monday to Monday. A day has 23 or 25 hours
 * when that clock is set, and begins at 01:00 where midnight is skipped. Pure: Intl knows the zones. The windows of a zone follow each other
 * without a gap, so that each moment is in exactly one.
 */

export interface Window {
  fromMs: number;
  /** The first moment that is not in it. */
  toMs: number;
}

const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

export function windowOf(period: "day" | "week", atMs: number, zone: string): Window {
  const local = new Date(Math.floor((atMs + offsetMs(atMs, zone)) / DAY_MS) * DAY_MS);
  const weekday = period === "week" ? (local.getUTCDay() + 6) % 7 : 0;
  const days = period === "week" ? 7 : 1;
  // A clock that is set back over midnight shows yesterday's date once more: that hour belongs to the day that has begun.
  for (let first = local.getTime() - weekday * DAY_MS; ; first += days * DAY_MS) {
    const window = { fromMs: startOf(first, zone), toMs: startOf(first + days * DAY_MS, zone) };
    if (atMs < window.toMs) return window;
  }
}

/** The zone of this process: what TZ says, else the machine's. */
export function systemZone(): string {
  return new Intl.DateTimeFormat("en-US").resolvedOptions().timeZone;
}

/** `19 Nov 00:00`, as the clock on the wall shows it. */
export function localTime(atMs: number, zone: string): string {
  const { day, month, hour, minute } = partsOf(atMs, zone);
  return `${day} ${MONTHS[month - 1]} ${two(hour)}:${two(minute)}`;
}

/** When something begins, as one says it now: only the hour within a day, with the weekday within a week. */
export function opensAt(atMs: number, nowMs: number, zone: string): string {
  const { hour, minute } = partsOf(atMs, zone);
  const clock = `${two(hour)}:${two(minute)}`;
  const ahead = atMs - nowMs;
  if (ahead <= 25 * 3_600_000) return clock;
  const weekday = WEEKDAYS[new Date(atMs + offsetMs(atMs, zone)).getUTCDay()];
  return ahead < 7 * DAY_MS ? `${weekday} ${clock}` : localTime(atMs, zone);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** The first moment of a local date, given as its midnight in UTC. */
function startOf(dateMs: number, zone: string): number {
  // No zone sets its clock twice within two days: what held the day before, or holds the day after, holds at midnight.
  const before = offsetMs(dateMs - DAY_MS, zone);
  const after = offsetMs(dateMs + DAY_MS, zone);
  const candidates = [dateMs - before, dateMs - after].sort((a, b) => a - b);
  // There is none where midnight is skipped: the clock is set forward at that very moment.
  return candidates.find((at) => at + offsetMs(at, zone) === dateMs) ?? dateMs - before;
}

/** How far the clock on the wall is ahead of UTC. */
function offsetMs(atMs: number, zone: string): number {
  const { year, month, day, hour, minute, second } = partsOf(atMs, zone);
  const shown = Date.UTC(year, month - 1, day, hour, minute, second);
  return shown - Math.floor(atMs / 1000) * 1000;
}

function partsOf(atMs: number, zone: string): Record<Part, number> {
  const parts = formatOf(zone).formatToParts(atMs);
  const value = (type: Part): number => Number(parts.find((part) => part.type === type)?.value);
  return Object.fromEntries(PARTS.map((part) => [part, value(part)])) as Record<Part, number>;
}

const PARTS = ["year", "month", "day", "hour", "minute", "second"] as const;
type Part = (typeof PARTS)[number];

/** To make one takes a hundred times as long as to use it. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const numeric = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric" } as const;
  const options = { ...numeric, minute: "numeric", second: "numeric", hourCycle: "h23", timeZone: zone } as const;
  const made = new Intl.DateTimeFormat("en-US", options);
  formats.set(zone, made);
  return made;
}
