/**
 * Writing to stdout: gathers small pieces, waits for slow readers, and ends quietly when the reader has gone. A terminal gets nothing that it
 * would obey, but for colours (`core/text/terminal-text`); anything else gets the bytes as they are.
 */
import type { Writable } from "node:stream";
import { MidwatchError } from "../../core/errors.ts";
import { terminalText } from "../../core/text/terminal-text.ts";

/** A terminal, a pipe, or a test's buffer. */
export type Out = Writable & { isTTY?: boolean; columns?: number };

const FLUSH_BYTES = 64 * 1024;

export class Output {
  /** Nothing more can be said. A reader that has gone (EPIPE) is no fault; anything else is, and is in `failure`. */
  readonly gone: AbortSignal;
  /** The output is not whole: a full disk behind `midwatch logs --raw > copy` must not look like success. */
  failure: MidwatchError | undefined;
  /** The bytes as they are, whoever reads: somebody asked for them. */
  raw = false;
  readonly #stream: Out;
  readonly #styles: boolean;
  readonly #decoder = new TextDecoder();
  readonly #controller = new AbortController();
  readonly #onError: (error: Error) => void;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #timer: NodeJS.Immediate | undefined;

  /** `styles`: colours are wanted. */
  constructor(stream: Out, styles = true) {
    this.#stream = stream;
    this.#styles = styles;
    this.gone = this.#controller.signal;
    this.#onError = (error) => this.#end(error);
    stream.on("error", this.#onError);
  }

  async write(data: string | Uint8Array): Promise<void> {
    const shown = this.#stream.isTTY === true && !this.raw ? this.#safe(data) : data;
    const piece = typeof shown === "string" ? Buffer.from(shown) : shown;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= FLUSH_BYTES) await this.flush();
    // A follower prints a line now and then: it must not wait for the buffer to fill.
    else this.#timer ??= setImmediate(() => void this.flush());
  }

  /** Bytes are what an agent printed: a character may come in two pieces, and a colour ends with its line. */
  #safe(data: string | Uint8Array): string {
    if (typeof data === "string") return terminalText(data, this.#styles);
    const text = terminalText(this.#decoder.decode(data, { stream: true }), this.#styles);
    return text.includes("\u001b") ? text.replaceAll("\n", "\u001b[0m\n") : text;
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
