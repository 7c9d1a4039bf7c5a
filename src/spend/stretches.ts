/** Times cut into stretches as a person sees them: by the clock and calendar of this machine, where a day may have 23 or 25 hours. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Minutes; the last of them are a day and a week, which follow the calendar. */
const WIDTHS = [1, 5, 15, 60, 180, 1440, 7 * 1440] as const;

/** The edges of as many equal stretches as fit, `most` of them at the most. The first lies at or before `sinceMs`, the last at or behind `untilMs`. */
export function stretches(sinceMs: number, untilMs: number, most: number): number[] {
  const width = WIDTHS.find((minutes) => (untilMs - sinceMs) / (minutes * MINUTE_MS) <= most - 1) ?? 7 * 1440;
  return width >= 1440 ? days(sinceMs, untilMs, width / 1440) : clock(sinceMs, untilMs, width * MINUTE_MS);
}

/** The edges of the days, or weeks from Monday on, that these times lie in. */
export function days(sinceMs: number, untilMs: number, count = 1): number[] {
  const first = new Date(sinceMs);
  const weekday = count === 7 ? (first.getDay() + 6) % 7 : 0;
  const edges: number[] = [];
  for (let n = -weekday; ; n += count) {
    const edge = new Date(first.getFullYear(), first.getMonth(), first.getDate() + n).getTime();
    edges.push(edge);
    if (edge >= untilMs) return edges;
  }
}

/** From midnight on, so that hours begin where a person's do. */
function clock(sinceMs: number, untilMs: number, widthMs: number): number[] {
  const midnight = new Date(new Date(sinceMs).setHours(0, 0, 0, 0)).getTime();
  const edges = [midnight + Math.floor((sinceMs - midnight) / widthMs) * widthMs];
  while ((edges.at(-1) as number) < untilMs) edges.push((edges.at(-1) as number) + widthMs);
  return edges;
}

/** A day in words: 2026-11-19. */
export function dayName(ms: number): string {
  const day = new Date(ms + DAY_MS / 2); // Noon: a midnight that does not exist belongs to the day it begins.
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
