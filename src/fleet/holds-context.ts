/** What a workspace and each of its rooms are: methods over one context, which callers do not see, not even when they print it. */
import type { Context } from "../workspace/context.ts";
import { assertOurs } from "../workspace/trust.ts";

export abstract class HoldsContext {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  protected get context(): Context {
    return this.#context;
  }

  /** For what rests on prices: refused while those that a person named cannot be used. */
  protected get priced(): Context {
    const { fault } = this.#context.prices;
    if (fault !== undefined) throw fault;
    return this.#context;
  }

  /** For what starts, signals, changes or deletes something: refused in a workspace that can only be read. */
  protected get acting(): Context {
    assertOurs(this.#context);
    return this.#context;
  }
}
