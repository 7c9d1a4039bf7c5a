/** Figures and times for people: short, and as wide as their neighbours. */
import { signal } from "@preact/signals";
import type { Tokens } from "../../src/core/types.ts";

/** The clock of everything that shows an age; one tick a second for the whole page. */
export const clock = signal(Date.now());
setInterval(() => {
  if (!document.hidden) clock.value = Date.now();
}, 1000);

export function age(iso: string | null | undefined, nowMs = clock.value): string {
  if (!iso) return "–";
  return span(nowMs - Date.parse(iso));
}

/** 4s, 12m, 3h 5m, 2d. */
export function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m}m`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 === 0 || h > 9 ? `${h}h` : `${h}h ${m % 60}m`;
  return `${Math.floor(h / 24)}d`;
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  let value = n;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export function count(n: number): string {
  if (n < 1000) return String(n);
  if (n < 100_000) return n < 10_000 ? grouped(n) : `${(n / 1000).toFixed(0)}k`;
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`;
  return n < 1e9 ? `${(n / 1e6).toFixed(n < 1e7 ? 2 : 1)}M` : `${(n / 1e9).toFixed(2)}G`;
}

export function grouped(n: number): string {
  return n.toLocaleString("en-US");
}

export function tokensOf(tokens: Tokens | null | undefined): number {
  return tokens ? tokens.input + tokens.output + tokens.cache_read + tokens.cache_write : 0;
}

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : usd < 100 ? `$${usd.toFixed(2)}` : `$${grouped(Math.round(usd))}`;
}

/** `~` marks what was worked out from a list of prices. What was used and has no price is unknown; where nothing was used there is nothing to say. */
export function spentText(usd: number | null | undefined, estimated: boolean, used: boolean): string {
  if (usd === null || usd === undefined) return used ? "unknown" : "–";
  return `${estimated ? "~" : ""}${usd < 0 ? "−" : ""}${money(Math.abs(usd))}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

/** The time of day, as the person's clock shows it. */
export function timeOfDay(iso: string | null | undefined): string {
  if (!iso) return "";
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleTimeString("en-GB");
}

export function dateTime(iso: string | null | undefined): string {
  if (!iso) return "–";
  const at = new Date(iso);
  const day =
    at.toDateString() === new Date(clock.peek()).toDateString()
      ? ""
      : `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} `;
  return `${day}${at.toLocaleTimeString("en-GB")}`;
}

/** Times of machines within a sentence become times of people; "None." is nothing to tell. */
export function readable(text: string): string {
  if (text === "None.") return "";
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, dateTime);
}

/** What an agent does, in a line: of a call only the part that says most, of Markdown only the words. */
export function doing(text: string | null | undefined): string {
  if (!text) return "";
  const call =
    /^(Uses [^:]+: )\{.*?"(?:command|file_path|filePath|path|pattern|query|url|prompt)":"((?:[^"\\]|\\.)*)/.exec(text);
  const plain = call ? `${call[1]}${call[2]}` : text;
  return plain.replaceAll(/`|\*\*/g, "");
}

export function words(name: string): string {
  return name.replaceAll("_", " ");
}
