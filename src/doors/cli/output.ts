/** Writing to stdout: gathers small pieces, waits for slow readers, and ends quietly when the reader has gone. */
import type { Writable } from "node:stream";

/** A terminal, a pipe, or a test's buffer. */
export type Out = Writable & { isTTY?: boolean; columns?: number };

const FLUSH_BYTES = 64 * 1024;

export class Output {
  /** The reader has gone (EPIPE): nothing more can be said, and that is no fault. */
  readonly gone: AbortSignal;
  readonly #stream: Out;
  readonly #controller = new AbortController();
  readonly #onError: (error: Error) => void;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #timer: NodeJS.Immediate | undefined;

  constructor(stream: Out) {
    this.#stream = stream;
    this.gone = this.#controller.signal;
    this.#onError = () => this.#controller.abort();
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
      this.#stream.write(whole, () => resolve());
    });
  }

  async close(): Promise<void> {
    await this.flush();
    // One turn later, so that an error of the last write still meets the listener.
    await new Promise((resolve) => setImmediate(resolve));
    this.#stream.off("error", this.#onError);
  }
}
