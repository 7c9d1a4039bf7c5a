/** What a workspace and each of its rooms are: methods over one context, which callers do not see, not even when they print it. */
import type { Context } from "../workspace/context.ts";

export abstract class HoldsContext {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  protected get context(): Context {
    return this.#context;
  }
}
