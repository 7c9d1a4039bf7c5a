import type { BadLine, Cursor, Engine, EngineHealth, ReadOptions, Register, Stored } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Hub, type HubSettings } from "./hub.ts";
import { NatsLog } from "./log.ts";
import { fleetNames, type Names } from "./names.ts";
import { NatsRegisters } from "./registers.ts";

/** Which hub, which fleet on it, and in whose name. */
export interface NatsEngineOptions extends HubSettings {
  fleet: string;
  /** Under whose name events go out: that of the host. */
  origin: string;
}

export interface Opened {
  hub: Hub;
  names: Names;
  log: NatsLog;
  registers: NatsRegisters;
}

/** All that a fleet has on its hub, over one connection. */
export async function openFleet({ fleet, origin, ...settings }: NatsEngineOptions): Promise<Opened> {
  const names = fleetNames(fleet);
  const hub = await Hub.open(settings);
  try {
    return { hub, names, log: await NatsLog.open(hub, names, origin), registers: await NatsRegisters.open(hub, names) };
  } catch (error) {
    await hub.close();
    throw error;
  }
}

/** The engine of many machines: events and registers on NATS JetStream. The connection is made with the first call. */
export class NatsEngine implements Engine {
  readonly #options: NatsEngineOptions;
  #opened: Promise<Opened> | undefined;

  constructor(options: NatsEngineOptions) {
    this.#options = options;
  }

  /** One that failed is tried again with the next call. */
  #open(): Promise<Opened> {
    this.#opened ??= openFleet(this.#options).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async append(events: readonly JournalEvent[]): Promise<void> {
    await (await this.#open()).log.append(events);
  }

  async *read(options?: ReadOptions): AsyncGenerator<Stored | BadLine> {
    yield* (await this.#open()).log.read(options);
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    return await (await this.#open()).log.tail(lines);
  }

  async holds(cursor: Cursor): Promise<boolean> {
    return await (await this.#open()).log.holds(cursor);
  }

  async health(): Promise<EngineHealth> {
    return await (await this.#open()).log.health();
  }

  async get<T>(key: string): Promise<Register<T> | undefined> {
    return await (await this.#open()).registers.get<T>(key);
  }

  async set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    return await (await this.#open()).registers.set(key, value, rev);
  }

  async keys(prefix: string): Promise<string[]> {
    return await (await this.#open()).registers.keys(prefix);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await (await opened?.catch(() => undefined))?.hub.close();
  }
}
