/**
 * Looking after many agents: trouble with one is told once and does not stand in the way of the others. What concerns them all (no
 * room, no descriptors, no registry) is not swallowed.
 */
import { type ErrorCode, toMidwatchError } from "../core/errors.ts";
import { placeId } from "../journal/event.ts";
import { audit } from "./audit.ts";
import type { Context, RunName } from "./context.ts";

const OF_ALL: readonly ErrorCode[] = [
  ...(["NO_RESOURCES", "DISK_FULL", "NOT_WRITABLE"] as const),
  ...(["REGISTRY_BUSY", "REGISTRY_CORRUPT", "REGISTRY_NEWER"] as const),
];

export class Apart {
  readonly #context: Context;
  readonly #told = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Undefined when it failed. */
  async each<T>({ task, agent, run }: RunName, act: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (thrown) {
      const { code, message } = toMidwatchError(thrown);
      if (OF_ALL.includes(code)) throw thrown;
      const key = `${agent}.${run}.${code}`;
      if (this.#told.has(key)) return undefined;
      this.#told.add(key);
      // The same id for every process that meets it: readers show it once.
      const id = placeId("apart", key);
      const content = `${agent} cannot be looked after: ${message}`;
      audit(this.#context, [{ type: "error", id, content, task, agent, data: { run, code } }]);
      return undefined;
    }
  }
}
