/** Answers are read by models: the last 100 items, and no more bytes than fit twice (as text and as data) into 256 KB. */

export const MOST = 100;
const MOST_BYTES = 110 << 10;
/** A single line may have 16 MiB; a model needs its beginning. */
const ONE_BYTES = 16 << 10;

export interface Bounded<T> {
  items: T[];
  /** There was more than fits. */
  truncated: boolean;
}

/** The first items that fit. */
export async function first<T>(items: AsyncIterable<T> | Iterable<T>, most: number = MOST): Promise<Bounded<T>> {
  const kept: T[] = [];
  let bytes = 0;
  for await (const item of items) {
    const one = cut(item);
    bytes += sizeOf(one);
    if (kept.length === most || bytes > MOST_BYTES) return { items: kept, truncated: true };
    kept.push(one);
  }
  return { items: kept, truncated: false };
}

/** The last items that fit. */
export async function last<T>(items: AsyncIterable<T>, most: number = MOST): Promise<Bounded<T>> {
  const kept: { one: T; bytes: number }[] = [];
  let bytes = 0;
  let truncated = false;
  for await (const item of items) {
    const one = cut(item);
    kept.push({ one, bytes: sizeOf(one) });
    bytes += kept.at(-1)?.bytes ?? 0;
    while (kept.length > most || bytes > MOST_BYTES) {
      bytes -= kept.shift()?.bytes ?? 0;
      truncated = true;
    }
  }
  return { items: kept.map(({ one }) => one), truncated };
}

/** A record whose content is too long keeps its place and the beginning of its content as text. */
function cut<T>(item: T): T {
  if (typeof item !== "object" || item === null || sizeOf(item) <= ONE_BYTES) return item;
  const entries = Object.entries(item).map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text === undefined || text.length <= 1024 ? [key, value] : [`${key}_cut`, text.slice(0, ONE_BYTES / 4)];
  });
  return { ...Object.fromEntries(entries), cut: true } as T;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
