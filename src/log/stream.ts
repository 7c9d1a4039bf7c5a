/** The lines of one log, from its tail on, as bytes or records; with `follow` until the run is over. */
import { setTimeout as sleep } from "node:timers/promises";
import { LogFile, markerLength } from "./lines.ts";
import { type LogRecord, toRecord } from "./record.ts";

export interface StreamOptions {
  path: string;
  run: number;
  type: "stdout" | "stderr";
  /** The last N lines; all when undefined. */
  lines: number | undefined;
  follow: boolean;
  /** Exactly what the agent printed, unfinished line included, our own marker not. */
  raw: boolean;
  isLive: () => boolean;
  signal: AbortSignal;
}

const NEWLINE = 10;
const FOLLOW_MS = 50;

/** Bytes: whole lines while the run lives, everything once it is over. */
export async function* streamBytes(options: StreamOptions): AsyncGenerator<Uint8Array> {
  for await (const { chunk } of spans(options)) yield chunk;
}

export async function* streamRecords(options: StreamOptions): AsyncGenerator<LogRecord> {
  let seq: number | undefined;
  let carried: Uint8Array = new Uint8Array(0);
  let offset = 0;
  for await (const { chunk, at, file } of spans(options)) {
    if (seq === undefined) {
      seq = countLines(file, at);
      offset = at;
    }
    const bytes = carried.length === 0 ? chunk : Buffer.concat([carried, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const record = toRecord(bytes.subarray(from, end), ++seq, offset, options.type);
      if (record) yield record;
      offset += end + 1 - from;
      from = end + 1;
    }
    carried = bytes.subarray(from);
  }
  const last = seq === undefined ? undefined : toRecord(carried, seq + 1, offset, options.type);
  if (last) yield { ...last, partial: true };
}

interface Span {
  chunk: Uint8Array;
  at: number;
  file: LogFile;
}

async function* spans(options: StreamOptions): AsyncGenerator<Span> {
  let file: LogFile | undefined;
  let at: number | undefined;
  try {
    for (;;) {
      // Asked before the size: a run that ends in between is read to its end in the next round.
      const live = options.isLive();
      file ??= LogFile.open(options.path);
      if (file !== undefined) {
        const size = file.size();
        const end = live && !(options.raw && !options.follow) ? file.wholeEnd(size) : size;
        if (at === undefined) {
          const head = options.raw ? markerLength(file, options.run) : 0;
          at = options.lines === undefined ? head : Math.max(head, file.tailStart(end, options.lines));
        }
        for (const chunk of file.chunks(at, end)) {
          yield { chunk, at, file };
          at += chunk.length;
          if (options.signal.aborted) return;
        }
      }
      if (!options.follow || !live || options.signal.aborted) return;
      await sleep(FOLLOW_MS, undefined, { signal: options.signal }).catch(() => undefined);
    }
  } finally {
    file?.close();
  }
}

function countLines(file: LogFile, end: number): number {
  let lines = 0;
  for (const chunk of file.chunks(0, end))
    for (let i = chunk.indexOf(NEWLINE); i >= 0; i = chunk.indexOf(NEWLINE, i + 1)) lines++;
  return lines;
}
