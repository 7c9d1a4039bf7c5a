/** Somebody published on these subjects. A hint only: it may be missed, and who waits looks by itself now and then. */
import type { NatsConnection, Subscription } from "@nats-io/transport-node";

export class Wake implements Disposable {
  readonly #subscriptions: Subscription[];
  #happened = false;
  #resolve: (() => void) | undefined;

  constructor(connection: NatsConnection, subjects: readonly string[], signal: AbortSignal) {
    const tell = (): void => {
      this.#happened = true;
      this.#resolve?.();
    };
    this.#subscriptions = subjects.map((subject) => connection.subscribe(subject, { callback: tell }));
    signal.addEventListener("abort", tell, { once: true });
    if (signal.aborted) tell();
  }

  async wait(ms: number): Promise<void> {
    if (!this.#happened) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    this.#happened = false;
  }

  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions) if (!subscription.isClosed()) subscription.unsubscribe();
  }
}
