// Searches pieces of logs for search-pool.ts: a piece in, batches of hits out, then `done`.
import { parentPort } from "node:worker_threads";
import { toMidwatchError } from "../core/errors.ts";
import { secretFinder } from "../core/secret-values.ts";
import type { Log } from "./log.ts";
import { openPiece, type Piece } from "./piece.ts";
import { type Hit, search } from "./search.ts";

export type Answer = { hits: Hit[] } | { done: true } | { error: string };

const BATCH = 256;

parentPort?.on("message", (piece: Piece) => {
  const tell = (answer: Answer): void => parentPort?.postMessage(answer);
  let log: Log | undefined;
  try {
    log = openPiece(piece);
    let hits: Hit[] = [];
    for (const hit of search(log, piece.text, piece.from, piece.to, secretFinder(piece.secrets))) {
      hits.push(hit);
      if (hits.length < BATCH) continue;
      tell({ hits });
      hits = [];
    }
    if (hits.length > 0) tell({ hits });
    tell({ done: true });
  } catch (error) {
    tell({ error: toMidwatchError(error).message });
  } finally {
    log?.close();
  }
});
