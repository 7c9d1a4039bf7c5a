/** The fleet as one process sees it: who is there, what they last said of their agents, and a way to ask each of them. */

import { MidwatchError } from "../core/errors.ts";
import { isFields } from "../core/json.ts";
import { didYouMean } from "../core/nearest.ts";
import { iso } from "../core/time.ts";
import type { ListRecord, Phase } from "../core/types.ts";
import type { Stored } from "../journal/engine.ts";
import { type EventsOptions, Journal } from "../journal/journal.ts";
import { type Answered, ask, awayHost, type Line, PING, type Question } from "./ask.ts";
import { type Bounds, bound } from "./bounds.ts";
import { type KeyOptions, type NatsEngineOptions, type Opened, openFleet, refreshRoster } from "./engine.ts";
import { type HostFact, type HostRecord, isHostFact } from "./host.ts";
import type { Hub } from "./hub.ts";
import type { NatsLog } from "./log.ts";
import type { Names } from "./names.ts";
import type { NatsRegisters, Shown } from "./registers.ts";
import { counts, type Seal, type Seals } from "./signed/seals.ts";

const PING_MS = 1500;

/** `ls --all-hosts`: an agent with its host. Of a host that gives no answer it is what was last known. */
export interface FleetRecord extends Omit<ListRecord, "phase"> {
  host: string;
  phase: Phase | "unreachable";
  /** What it was when its host was last heard of; missing while it is reachable. */
  last_phase?: Phase;
  /** When that was. */
  as_of?: string;
  /** Whether its host signed it: false of a host of 0.1; null where nobody has a key. */
  signed: boolean | null;
}

/** The register `agents/<host>`. */
export interface AgentsFact {
  v: 1;
  at: string;
  agents: ListRecord[];
}

/** Shown to people: also what is not signed, and marked so. */
function isShown(seal: Seal): boolean {
  return counts(seal) || seal === "unsigned";
}

/** Whatever a host calls its agents: those that look like some. */
function recordsIn(items: unknown): ListRecord[] {
  const isRecord = (item: unknown): item is ListRecord =>
    isFields(item) && ["agent", "task", "phase"].every((field) => typeof item[field] === "string");
  return Array.isArray(items) ? items.filter(isRecord) : [];
}

const ENDED: readonly Phase[] = ["drained", "archived", "launch_failed"];

export class FleetLink implements Line, AsyncDisposable {
  readonly hub: Hub;
  readonly names: Names;
  readonly registers: NatsRegisters;
  readonly seals: Seals;
  readonly #log: NatsLog;
  readonly #keys: KeyOptions;

  private constructor({ hub, names, registers, log, seals }: Opened, keys: KeyOptions) {
    this.seals = seals;
    this.#keys = keys;
    this.hub = hub;
    this.names = names;
    this.registers = registers;
    this.#log = log;
  }

  static async open(
    settings: Omit<NatsEngineOptions, "fleet" | "origin">,
    fleet: string,
    host: string,
    keys: KeyOptions = {},
  ): Promise<FleetLink> {
    return new FleetLink(await openFleet({ ...settings, fleet, origin: host }, keys), keys);
  }

  /** Whose keys count may have changed. */
  async refreshRoster(): Promise<void> {
    await refreshRoster(this, this.#keys.rosters);
  }

  /** Sees to how much of the journal the hub keeps; says what was told or done. */
  bound(wanted: Bounds, usual: boolean): Promise<string | undefined> {
    return bound({ hub: this.hub, names: this.names, log: this.#log, registers: this.registers }, wanted, usual);
  }

  /** What all hosts wrote, each in its order. */
  events(options: EventsOptions): AsyncGenerator<Stored> {
    return new Journal(this.#log).events(options);
  }

  /** Also those that do not sign; not what somebody else wrote under a host's name. */
  async #facts(): Promise<Shown<HostFact>[]> {
    const found = await this.registers.all<HostFact | null>("hosts/");
    return found.filter(
      (one): one is Shown<HostFact> =>
        isShown(one.seal) && isHostFact(one.value) && `hosts/${one.value.host}` === one.key,
    );
  }

  /** What other hosts tell of what they spend, as far as it counts: somebody else could write anything. */
  async spends(own: string): Promise<Record<string, NonNullable<HostFact["spend"]>>> {
    const facts = (await this.#facts()).filter(({ seal, value }) => counts(seal) && value.host !== own);
    return Object.fromEntries(facts.flatMap(({ value: { host, spend } }) => (spend ? [[host, spend]] : [])));
  }

  async #names(): Promise<string[]> {
    return (await this.#facts()).map(({ value }) => value.host);
  }

  /** Sorted by name; each is asked whether it is there. */
  async hosts(): Promise<HostRecord[]> {
    const drained = await this.registers.all("drain/");
    for (const { key, seal } of drained)
      if (seal === "unsigned")
        this.seals.doubt(this.names.registers.subject(key), "it is not signed, so it drains nobody");
    const isDrained = (host: string): boolean =>
      drained.some(({ key, seal }) => key === `drain/${host}` && counts(seal));
    return await Promise.all(
      (await this.#facts()).map(async ({ value, seal }) => ({
        ...value,
        reachable: await this.isThere(value.host),
        draining: isDrained(value.host),
        signature: seal === "signed" ? ("signed" as const) : seal === "open" ? ("none" as const) : ("missing" as const),
      })),
    );
  }

  async isThere(host: string): Promise<boolean> {
    return (await this.identity(host)) !== undefined;
  }

  /** Which workspace answers under this name. */
  async identity(host: string): Promise<string | undefined> {
    try {
      const told = await ask(this, host, { operation: PING, input: {}, changes: false }, PING_MS);
      return String((told.answer as { identity?: unknown }).identity);
    } catch (error) {
      if (this.#isItsOwn(error, host)) return undefined;
      throw error;
    }
  }

  /** A name, or a beginning that only one has. */
  async find(text: string): Promise<string> {
    const names = await this.#names();
    if (names.includes(text)) return text;
    const [only, ...more] = names.filter((name) => name.startsWith(text));
    if (only !== undefined && more.length === 0) return only;
    throw new MidwatchError("NOT_FOUND_HOST", `There is no host ${JSON.stringify(text)} in this fleet.`, {
      hint: didYouMean(text, names, "`midwatch hosts` lists them."),
    });
  }

  async ask(host: string, question: Question, timeoutMs?: number): Promise<unknown> {
    return (await this.#ask(host, question, timeoutMs)).answer;
  }

  async #ask(host: string, question: Question, timeoutMs?: number): Promise<Answered> {
    const answered = await ask(this, host, question, timeoutMs);
    if (!answered.signed && !this.seals.isOpen)
      this.seals.say(`${host}: its answers are not signed; it runs midwatch 0.1, or no roster names it`);
    return answered;
  }

  async drain(host: string, on: boolean): Promise<void> {
    const key = `drain/${host}`;
    const found = await this.registers.get(key);
    if (on && found === undefined) await this.registers.set(key, { v: 1, since: iso() }, 0);
    if (!on && found !== undefined) await this.registers.set(key, null, found.rev);
  }

  /** The agents of all hosts. */
  async list(all: boolean): Promise<FleetRecord[]> {
    const hosts = await this.#names();
    return (await Promise.all(hosts.map((host) => this.#listOf(host, all)))).flat();
  }

  async #listOf(host: string, all: boolean): Promise<FleetRecord[]> {
    try {
      const { answer, signed } = await this.#ask(
        host,
        { operation: "ls", input: { json: true, fields: { all } }, changes: false },
        PING_MS * 2,
      );
      return recordsIn((answer as { items?: unknown } | null)?.items).map((record) => ({
        ...record,
        host,
        signed: this.#marked(signed),
      }));
    } catch (error) {
      if (!this.#isItsOwn(error, host)) throw error;
      return await this.lastKnown(host);
    }
  }

  #marked(signed: boolean): boolean | null {
    return this.seals.isOpen ? null : signed;
  }

  /** A host that gives no answer, or none that counts, hides no other one. */
  #isItsOwn(error: unknown, host: string): boolean {
    if (!(error instanceof MidwatchError)) return false;
    const isRefused = error.code === "REFUSED_SIGNATURE" || error.code === "REFUSED_TIME";
    if (isRefused) this.seals.say(`${host}: ${error.message} ${error.hint ?? ""}`);
    return isRefused || error.code === "HOST_AWAY";
  }

  /** What a host said last of its agents. Those that lived then are neither lost nor ended: nobody knows. */
  async lastKnown(host: string): Promise<FleetRecord[]> {
    const found = await this.registers.show<AgentsFact>(`agents/${host}`);
    if (found === undefined || !isShown(found.seal)) return [];
    const { value: fact, seal } = found;
    const signed = this.#marked(seal === "signed");
    return recordsIn(fact?.agents).map((record) =>
      ENDED.includes(record.phase)
        ? { ...record, host, signed }
        : { ...record, host, signed, phase: "unreachable" as const, last_phase: record.phase, as_of: String(fact.at) },
    );
  }

  /** For `show` of an agent whose host is away. */
  async lastKnownOf(host: string, agent: string): Promise<FleetRecord> {
    const found = (await this.lastKnown(host)).filter((record) => record.agent.startsWith(agent));
    const [only, ...more] = found;
    if (only !== undefined && more.length === 0) return only;
    throw awayHost(host, "it gives no answer, and no such agent is known of it");
  }

  async close(): Promise<void> {
    await this.hub.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
