/** Tells subscribers which resources changed: one look a second at the workspace while somebody listens, none otherwise. */
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";

const LOOK_MS = 1000;

type Listener = (event: ServerEvent) => void;

export class Changes implements ServerEventBus {
  readonly #versions: () => Promise<Map<string, string>>;
  readonly #listeners = new Set<Listener>();
  #before: Map<string, string> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Which loop looks: one that was ended in the middle of a look finds another number, and stops. */
  #loop = 0;

  constructor(versions: () => Promise<Map<string, string>>) {
    this.#versions = versions;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#next(0, ++this.#loop);
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#loop++;
      this.#before = undefined;
    };
  }

  publish(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #next(ms: number, loop: number): void {
    this.#timer = setTimeout(() => void this.#look(loop), ms).unref();
  }

  async #look(loop: number): Promise<void> {
    // A workspace that is not there yet, or cannot be read just now: the next look tells.
    const now = await this.#versions().catch(() => undefined);
    if (loop !== this.#loop) return;
    const before = this.#before;
    if (now !== undefined) {
      for (const [uri, version] of before === undefined ? [] : now)
        if (before?.get(uri) !== version) this.publish({ kind: "resource_updated", uri });
      const listed = before !== undefined && [...now.keys()].join() !== [...before.keys()].join();
      if (listed) this.publish({ kind: "resources_list_changed" });
      this.#before = now;
    }
    this.#next(LOOK_MS, loop);
  }
}
