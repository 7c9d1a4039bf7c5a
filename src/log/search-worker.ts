// Searches pieces of logs for search-pool.ts: a piece in, batches of hits out, then `done`. It is never more than a few batches ahead of
// who takes them: where every line is a hit, they would be held many times over. The piece whose hits are wanted next is never held up,
// since all that its worker found before has been taken.
import { parentPort, workerData } from "node:worker_threads";
import { toMidwatchError } from "../core/errors.ts";
import { openPiece, type Piece, secretsOf } from "./piece.ts";
import { type Hit, search } from "./search.ts";

export type Answer = { hits: Hit[] } | { done: true } | { error: string };

const BATCH = 256;
const AHEAD = 8;
/** How many of our batches were taken: the other side counts. */
const taken = workerData as Int32Array;
let sent = 0;

const tell = (answer: Answer): void => parentPort?.postMessage(answer);

function give(hits: Hit[]): void {
  tell({ hits });
  sent++;
  for (let seen = Atomics.load(taken, 0); sent - seen >= AHEAD; seen = Atomics.load(taken, 0))
    Atomics.wait(taken, 0, seen);
}

parentPort?.on("message", (piece: Piece) => {
  try {
    using log = openPiece(piece);
    let hits: Hit[] = [];
    for (const hit of search(log, piece.text, piece.from, piece.to, secretsOf(piece))) {
      hits.push(hit);
      if (hits.length < BATCH) continue;
      give(hits);
      hits = [];
    }
    if (hits.length > 0) give(hits);
    tell({ done: true });
  } catch (error) {
    tell({ error: toMidwatchError(error).message });
  }
});
