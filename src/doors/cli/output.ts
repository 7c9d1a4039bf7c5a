/** Writing to stdout: gathers small pieces, waits for slow readers, and ends quietly when the reader has gone. */
import type { Writable } from "node:stream";
import { MidwatchError } from "../../core/errors.ts";

/** A terminal, a pipe, or a test's buffer. */
export type Out = Writable & { isTTY?: boolean; columns?: number };

const FLUSH_BYTES = 64 * 1024;

export class Output {
  /** Nothing more can be said. A reader that has gone (EPIPE) is no fault; anything else is, and is in `failure`. */
  readonly gone: AbortSignal;
  /** The output is not whole: a full disk behind `midwatch logs --raw > copy` must not look like success. */
  failure: MidwatchError | undefined;
  readonly #stream: Out;
  readonly #controller = new AbortController();
  readonly #onError: (error: Error) => void;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #timer: NodeJS.Immediate | undefined;

  constructor(stream: Out) {
    this.#stream = stream;
    this.gone = this.#controller.signal;
    this.#onError = (error) => this.#end(error);
    stream.on("error", this.#onError);
  }

  async write(data: string | Uint8Array): Promise<void> {
    const piece = typeof data === "string" ? Buffer.from(data) : data;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= FLUSH_BYTES) await this.flush();
    // A follower prints a line now and then: it must not wait for the buffer to fill.
    else this.#timer ??= setImmediate(() => void this.flush());
  }

  async flush(): Promise<void> {
    clearImmediate(this.#timer);
    this.#timer = undefined;
    if (this.#bytes === 0 || this.gone.aborted) return;
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    await new Promise<void>((resolve) => {
      this.#stream.write(whole, (error) => {
        if (error) this.#end(error);
        resolve();
      });
    });
  }

  #end(error: NodeJS.ErrnoException): void {
    if (this.gone.aborted) return;
    if (error.code !== "EPIPE") this.failure = unwritten(error);
    this.#controller.abort();
  }

  async close(): Promise<void> {
    await this.flush();
    // One turn later, so that an error of the last write still meets the listener.
    await new Promise((resolve) => setImmediate(resolve));
    this.#stream.off("error", this.#onError);
  }
}

function unwritten(error: NodeJS.ErrnoException): MidwatchError {
  const full = error.code === "ENOSPC" || error.code === "EDQUOT";
  return new MidwatchError(
    full ? "DISK_FULL" : "NOT_WRITABLE",
    `The output could not be written (${error.code ?? error.message}); what arrived is not all of it.`,
    {
      hint: full ? "Free some space, then run it again." : "Send the output elsewhere, then run it again.",
      cause: error,
    },
  );
}
