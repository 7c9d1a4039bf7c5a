/** Searching many or large logs on all cores: pieces go to workers, hits come back in the order of the pieces. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { throwIfExhausted, toMidwatchError } from "../core/errors.ts";
import { openPiece, type Piece, secretsOf } from "./piece.ts";
import { type Hit, search } from "./search.ts";
import type { Answer } from "./search-worker.ts";

const WORKERS_MAX = 8;
/** Below this a worker costs more than it saves. */
const WORTH_BYTES = 64 << 20;

/** What was found in `pieces[piece]`, or why it cannot be searched to its end. */
export type PieceFound = { piece: number } & Found;
type Found = { hit: Hit } | { fault: string };

/** A piece that cannot be read does not end the search of the others. */
export async function* searchPieces(pieces: readonly Piece[], signal: AbortSignal): AsyncGenerator<PieceFound> {
  const bytes = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  const script = workerScript();
  const workers = Math.min(availableParallelism(), WORKERS_MAX, pieces.length);
  if (bytes < WORTH_BYTES || workers < 2 || script === undefined) {
    for (const [i, piece] of pieces.entries())
      for (const found of searchHere(piece, signal)) yield { piece: i, ...found };
    return;
  }
  const { Worker } = await import("node:worker_threads");
  const pool = Array.from({ length: workers }, () => {
    const taken = new Int32Array(new SharedArrayBuffer(4));
    return Object.assign(new Worker(script, { workerData: taken }), { taken });
  });
  const results = pieces.map(() => new Inbox());
  let next = 0;
  const feed = (worker: (typeof pool)[number]): void => {
    const mine = next++;
    const piece = pieces[mine];
    const inbox = results[mine];
    if (piece === undefined || inbox === undefined) return;
    const onMessage = (answer: Answer): void => {
      inbox.put(answer, worker.taken);
      if ("hits" in answer) return;
      worker.off("message", onMessage);
      feed(worker);
    };
    worker.on("message", onMessage);
    worker.postMessage(piece);
  };
  for (const worker of pool) {
    worker.on("error", (error) => {
      for (const inbox of results) inbox.put({ error: error.message });
    });
    feed(worker);
  }
  try {
    for (const [i, inbox] of results.entries()) {
      for await (const found of inbox.found(signal)) yield { piece: i, ...found };
      if (signal.aborted) return;
    }
  } finally {
    await Promise.all(pool.map((worker) => worker.terminate()));
  }
}

function* searchHere(piece: Piece, signal: AbortSignal): Generator<Found> {
  try {
    using log = openPiece(piece);
    for (const hit of search(log, piece.text, piece.from, piece.to, secretsOf(piece))) {
      if (signal.aborted) return;
      yield { hit };
    }
  } catch (error) {
    throwIfExhausted(error);
    yield { fault: toMidwatchError(error).message };
  }
}

/** Beside this file in src/ and dist/; below it when this is the bundle. */
function workerScript(): string | undefined {
  const names = ["./search-worker.ts", "./search-worker.js", "./log/search-worker.js"];
  return names.map((name) => fileURLToPath(new URL(name, import.meta.url))).find((path) => existsSync(path));
}

/** The answers for one piece, in order, waiting for the next where there is none yet. A worker is told which of its batches were taken. */
class Inbox {
  readonly #answers: { answer: Answer; taken: Int32Array | undefined }[] = [];
  #wake: () => void = () => undefined;

  put(answer: Answer, taken?: Int32Array): void {
    this.#answers.push({ answer, taken });
    this.#wake();
  }

  async *found(signal: AbortSignal): AsyncGenerator<Found> {
    for (;;) {
      const { answer, taken } = this.#answers.shift() ?? {};
      if (signal.aborted) return;
      if (answer === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      } else if ("hits" in answer) {
        yield* answer.hits.map((hit) => ({ hit }));
        if (taken === undefined) continue;
        Atomics.add(taken, 0, 1);
        Atomics.notify(taken, 0);
      } else {
        if ("error" in answer) yield { fault: answer.error };
        return;
      }
    }
  }
}
