/** Tells subscribers which resources changed: one look a second at the workspace while somebody listens, none otherwise. */
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

const LOOK_MS = 1000;

type Listener = (event: ServerEvent) => void;

export class Changes implements ServerEventBus {
  readonly #versions: () => Promise<Map<string, string>>;
  readonly #listeners = new Set<Listener>();
  #before: Map<string, string> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(versions: () => Promise<Map<string, string>>) {
    this.#versions = versions;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.#next(0);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#before = undefined;
    };
  }

  publish(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #next(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    // A workspace that is not there yet, or cannot be read just now: the next look tells.
    const now = await this.#versions().catch(() => undefined);
    if (this.#listeners.size === 0) return;
    const before = this.#before;
    if (now !== undefined) {
      for (const [uri, version] of before === undefined ? [] : now)
        if (before?.get(uri) !== version) this.publish({ kind: "resource_updated", uri });
      const listed = before !== undefined && [...now.keys()].join() !== [...before.keys()].join();
      if (listed) this.publish({ kind: "resources_list_changed" });
      this.#before = now;
    }
    this.#next(LOOK_MS);
  }
}
