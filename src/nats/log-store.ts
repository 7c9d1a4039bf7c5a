/** Finished logs of a host at the hub: archives as they are, each under its agent and run. One store for each host. */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { ObjectStore } from "@nats-io/obj";
import { away } from "./fault.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import { known } from "./stream.ts";

export class LogStore {
  readonly #hub: Hub;
  readonly #store: ObjectStore;

  private constructor(hub: Hub, store: ObjectStore) {
    this.#hub = hub;
    this.#store = store;
  }

  /** Made unless it is there; for whoever only reads undefined then. */
  static async open(hub: Hub, names: Names, host: string, make: boolean): Promise<LogStore | undefined> {
    const { Objm } = hub.client.obj;
    // Without its question about the account, which a host may not ask.
    const objects = new Objm(hub.client.jetstream.jetstream(hub.connection, { checkAPI: false }));
    const bucket = names.objects(host);
    return await hub.ask(async ({ streams }) => {
      if ((await known(streams, `OBJ_${bucket}`)) !== undefined) return new LogStore(hub, await objects.open(bucket));
      return make ? new LogStore(hub, await objects.create(bucket, { replicas: hub.replicas })) : undefined;
    });
  }

  has(name: string): Promise<boolean> {
    return this.#hub.ask(async () => (await this.#store.info(name))?.deleted === false);
  }

  async put(name: string, path: string): Promise<void> {
    await this.#hub.once(() => this.#store.put({ name }, Readable.toWeb(createReadStream(path)) as ReadableStream));
  }

  /** Undefined when there is none. Its hash is compared at the end. */
  async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const found = await this.#hub.ask(() => this.#store.get(name));
    if (found === null) return undefined;
    return checked(found.data as unknown as AsyncIterable<Uint8Array>, found.error);
  }
}

async function* checked(
  data: AsyncIterable<Uint8Array>,
  fault: Promise<Error | null | undefined>,
): AsyncGenerator<Uint8Array> {
  yield* data;
  const error = await fault;
  if (error) throw away(error, "The log that the hub has is not whole");
}
