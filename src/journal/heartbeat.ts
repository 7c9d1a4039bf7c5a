/**
 * Who is alive. A process of ours says so in `heartbeats/<name>.json`, replaced every few seconds; anybody else by an event of the type
 * `heartbeat`. Both count the same. Ages are taken by the clock that all processes of one boot share, where there is one.
 */
import { iso, monoMs } from "../core/time.ts";
import { host, isGone, type Somebody, self } from "../process/identity.ts";
import type { Registers } from "./engine.ts";

interface HeartbeatValue {
  v: 1;
  actor: string;
  /** What it is: `up`, `mcp`. */
  kind: string;
  since: string;
  at: string;
  mono_ms: number;
  process: Somebody;
}

type LifeSign = "alive" | "silent" | "gone";

export interface Alive {
  actor: string;
  kind: string;
  /** `silent`: nothing for longer than the time of a lease; `gone`: its process does not exist any more. */
  state: LifeSign;
  since: string;
  last: string;
  pid: number | null;
}

const PREFIX = "heartbeats/";

export class Heartbeat {
  readonly #registers: Registers;
  readonly #actor: string;
  readonly #kind: string;
  readonly #since = iso();
  #rev = 0;

  constructor(registers: Registers, actor: string, kind: string) {
    this.#registers = registers;
    this.#actor = actor;
    this.#kind = kind;
  }

  async beat(): Promise<void> {
    const value: HeartbeatValue = {
      v: 1,
      actor: this.#actor,
      kind: this.#kind,
      since: this.#since,
      at: iso(),
      mono_ms: monoMs(),
      process: self(),
    };
    const key = PREFIX + this.#actor;
    let rev = await this.#registers.set(key, value, this.#rev);
    // Somebody took the file away: it is ours alone, so whatever is there now is replaced.
    rev ??= await this.#registers.set(key, value, (await this.#registers.get(key))?.rev ?? 0);
    if (rev !== undefined) this.#rev = rev;
  }

  async end(): Promise<void> {
    await this.#registers.set(PREFIX + this.#actor, null, this.#rev);
  }
}

/** Those with a file, sorted by name. */
export async function heartbeats(registers: Registers, ttlMs: number): Promise<Alive[]> {
  const found: Alive[] = [];
  for (const key of await registers.keys(PREFIX)) {
    const value = (await registers.get<HeartbeatValue | null>(key))?.value;
    if (value?.process) found.push(aliveOf(value, ttlMs));
  }
  return found.sort((a, b) => (a.actor < b.actor ? -1 : 1));
}

function aliveOf({ actor, kind, since, at, mono_ms, process }: HeartbeatValue, ttlMs: number): Alive {
  const age = process.boot_id === host().boot_id ? monoMs() - mono_ms : Date.now() - Date.parse(at);
  const state = isGone(process) ? "gone" : age > ttlMs ? "silent" : "alive";
  return { actor, kind, state, since, last: at, pid: process.pid };
}

/** Takes away what processes left that are gone. Only the leader does, so that nobody's fresh file is taken for an old one. */
export async function sweepHeartbeats(registers: Registers): Promise<void> {
  for (const key of await registers.keys(PREFIX)) {
    const found = await registers.get<HeartbeatValue | null>(key);
    if (found?.value?.process && isGone(found.value.process)) await registers.set(key, null, found.rev);
  }
}
