import type { BadLine, Cursor, Engine, EngineHealth, ReadOptions, Register, Stored } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Hub, type HubSettings } from "./hub.ts";
import { NatsLog } from "./log.ts";
import { fleetNames, type Names } from "./names.ts";
import { NatsRegisters } from "./registers.ts";
import type { SignedRoster } from "./signed/roster.ts";
import { Seals } from "./signed/seals.ts";

/** Which hub, which fleet on it, and in whose name. */
export interface NatsEngineOptions extends HubSettings {
  fleet: string;
  /** Under whose name events go out: that of the host. */
  origin: string;
  /** Public keys of people (`nats_people`): what nobody signed whom they name counts for nothing. Without them nothing is verified. */
  people?: readonly string[];
}

/** How a process of ours stands to the keys of its fleet. */
export interface KeyOptions {
  /** Ours is a person's key: without `people` it is what everything begins with. */
  person?: boolean;
  /** Rosters of the keys: what this machine saw last, and what lies beside the key of people. */
  rosters?: { kept(): unknown; keep(rosters: readonly SignedRoster[]): void; made?: unknown };
  /** Told once of each thing that a person should know: what stands there and its owner did not write, who does not sign. */
  doubt?: ((text: string) => void) | undefined;
}

export interface Opened {
  hub: Hub;
  names: Names;
  log: NatsLog;
  registers: NatsRegisters;
  seals: Seals;
}

/** All that a fleet has on its hub, over one connection. */
export async function openFleet(options: NatsEngineOptions, keys: KeyOptions = {}): Promise<Opened> {
  const { fleet, origin, people: given = [], ...settings } = options;
  const names = fleetNames(fleet);
  const hub = await Hub.open(settings);
  try {
    const { signer } = hub;
    const isPersons = keys.person === true && given.length === 0 && signer !== undefined;
    const people = isPersons ? [signer.key] : given;
    const self = keys.person === true ? undefined : origin;
    const seals = new Seals({ fleet, signer, self, people, doubt: keys.doubt });
    const log = await NatsLog.open(hub, names, origin, seals);
    const opened = { hub, names, seals, log, registers: await NatsRegisters.open(hub, names, seals) };
    await refreshRoster(opened, keys.rosters);
    return opened;
  } catch (error) {
    await hub.close();
    throw error;
  }
}

/** The register `roster`. It needs no seal: each roster in it is signed by itself. */
interface RosterFact {
  v: 1;
  rosters: readonly SignedRoster[];
}

/**
 * Looks whether people have changed who counts. A roster that the hub does not have, because it is new or because somebody put an old one in
 * its place, is put there by the next person who asks anything.
 */
export async function refreshRoster(
  { seals, registers }: Pick<Opened, "seals" | "registers">,
  rosters: KeyOptions["rosters"],
): Promise<void> {
  if (seals.isOpen) return;
  seals.learn(rosters?.kept());
  const kept = seals.known.serial;
  seals.learn(rosters?.made);
  const ours = seals.known.serial;
  const found = await registers.show<Partial<RosterFact> | null>("roster");
  const isNewer = seals.learn(found?.value?.rosters);
  const { serial, rosters: all } = seals.known;
  if (serial > kept) rosters?.keep(all);
  const isAnother = JSON.stringify(found?.value?.rosters) !== JSON.stringify(all);
  if (!isNewer && ours > 0 && isAnother && seals.isPersons)
    await registers.set("roster", { v: 1, rosters: all } satisfies RosterFact, found?.rev ?? 0);
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
