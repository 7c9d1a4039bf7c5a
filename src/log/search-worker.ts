// Searches pieces of logs for search-pool.ts: a piece in, batches of hits out, then `done`.
import { parentPort } from "node:worker_threads";
import { toMidwatchError } from "../core/errors.ts";
import { type SecretPrints, secretFinder } from "../core/secret-values.ts";
import { Log } from "./log.ts";
import { type Hit, search } from "./search.ts";

export interface Piece {
  path: string;
  index: string | undefined;
  text: string;
  from: number;
  to: number;
  /** What must not be seen in a hit. */
  secrets?: SecretPrints | undefined;
}

export type Answer = { hits: Hit[] } | { done: true } | { error: string };

const BATCH = 256;

parentPort?.on("message", (piece: Piece) => {
  const tell = (answer: Answer): void => parentPort?.postMessage(answer);
  let log: Log | undefined;
  try {
    log = Log.open(piece.path, piece.index, { type: "stdout", json: false });
    let hits: Hit[] = [];
    for (const hit of log === undefined
      ? []
      : search(log, piece.text, piece.from, piece.to, secretFinder(piece.secrets))) {
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
