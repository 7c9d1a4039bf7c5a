/** Durations in ms: `250ms`, `5s`, `1.5h`, `14d` or a plain number of milliseconds. */
import { MidwatchError } from "./errors.ts";
import { quote } from "./ids.ts";

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export function parseDuration(value: string | number): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/.exec(String(value).trim().toLowerCase());
  if (match === null) {
    throw new MidwatchError("BAD_NUMBER", `${quote(value)} is not a duration.`, {
      hint: "Write a duration as 250ms, 5s, 10m, 24h, 14d or a number of milliseconds.",
    });
  }
  const ms = Math.round(Number(match[1]) * (UNITS[match[2] ?? "ms"] ?? 1));
  if (!Number.isSafeInteger(ms)) {
    throw new MidwatchError("BAD_NUMBER", `The duration ${quote(value)} is too long.`, {
      hint: "Durations go up to 2^53 milliseconds.",
    });
  }
  return ms;
}

/** For people: 250ms, 5s, 1m 30s, 2h 5m, 3d 4h. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const parts = [
    [Math.floor(ms / 86_400_000), "d"],
    [Math.floor(ms / 3_600_000) % 24, "h"],
    [Math.floor(ms / 60_000) % 60, "m"],
    [Math.floor(ms / 1000) % 60, "s"],
  ] as const;
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n}${unit}`)
    .join(" ");
}
