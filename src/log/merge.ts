/** Several logs as one, by time. Lines without a time stay behind the line before them. */
import type { LogRecord } from "./record.ts";

interface Head<T> {
  item: T;
  timeMs: number;
  rest: AsyncIterator<T>;
}

/** Merges streams that are each in their own order; of equal times the earlier stream comes first. */
export async function* mergeByTime<T extends { record: LogRecord | undefined }>(
  streams: readonly AsyncIterable<T>[],
): AsyncGenerator<T> {
  const heads: Head<T>[] = [];
  const pull = async (rest: AsyncIterator<T>, before: number): Promise<Head<T> | undefined> => {
    const { value, done } = await rest.next();
    if (done) return undefined;
    const own = value.record?.timestamp ? Date.parse(value.record.timestamp) : before;
    return { item: value, timeMs: Math.max(own, before), rest };
  };
  for (const stream of streams) {
    const head = await pull(stream[Symbol.asyncIterator](), Number.NEGATIVE_INFINITY);
    if (head !== undefined) heads.push(head);
  }
  while (heads.length > 0) {
    let first = 0;
    for (let i = 1; i < heads.length; i++)
      if ((heads[i] as Head<T>).timeMs < (heads[first] as Head<T>).timeMs) first = i;
    const { item, timeMs, rest } = heads[first] as Head<T>;
    yield item;
    const next = await pull(rest, timeMs);
    if (next === undefined) heads.splice(first, 1);
    else heads[first] = next;
  }
}
