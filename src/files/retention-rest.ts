/** What retention by itself remembers between processes: that it was told of, and until when it rests. */
import { iso } from "../core/time.ts";
import { readJson } from "../disk/replace.ts";
import { replaceInside } from "../disk/write-inside.ts";
import type { Context } from "../workspace/context.ts";

/** What a person has brought back stays for a day at least, however old it is. */
export const RESTORED_MS: number = 24 * 3_600_000;

interface RetentionFact {
  v: 1;
  announced_at?: string;
  rest_until?: string;
}

export function wasAnnounced(context: Context): boolean {
  return read(context).announced_at !== undefined;
}

export function announced(context: Context): void {
  write(context, { announced_at: iso() });
}

/** A time that is further away than any rest is one of a clock that was wrong. */
export function rests(context: Context): boolean {
  const left = Date.parse(read(context).rest_until ?? "") - Date.now();
  return left > 0 && left <= RESTORED_MS;
}

export function rest(context: Context, ms: number): void {
  write(context, { rest_until: iso(Date.now() + ms) });
}

function read({ layout }: Context): Partial<RetentionFact> {
  return readJson<RetentionFact>(layout.retention).value ?? {};
}

function write(context: Context, more: Partial<RetentionFact>): void {
  const { root, retention } = context.layout;
  replaceInside(root, retention, `${JSON.stringify({ ...read(context), ...more, v: 1 })}\n`);
}
