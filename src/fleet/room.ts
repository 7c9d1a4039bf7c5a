/** What every room of a workspace is: methods over one context, which callers do not see, not even when they print the room. */
import type { Context } from "../workspace/context.ts";

export abstract class Room {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  protected get context(): Context {
    return this.#context;
  }
}
