/**
 * Registers as a bucket of NATS: one message for each key, set only when the last one is the one that was read. Read from the leader of
 * the stream, never from a copy that may lag. The revision is the message's number, so a value never has the revision of another. What was
 * not signed by who may write it is as good as not there, unless somebody asks to be shown it.
 */
import { MidwatchError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Register, Registers } from "../journal/engine.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import { expecting, publish } from "./publish.ts";
import { counts, type Seal, type Seals, stampOf } from "./signed/seals.ts";
import { ensureStream } from "./stream.ts";

const OPERATION = "KV-Operation";
const DELETED = "DEL";

/** A register as it stands at the hub, whoever wrote it. */
export interface Shown<T> extends Register<T> {
  key: string;
  seal: Seal;
}

interface Last {
  value: unknown;
  seq: number;
  deleted: boolean;
  seal: Seal;
}

export class NatsRegisters implements Registers {
  readonly #hub: Hub;
  readonly #names: Names["registers"];
  readonly #seals: Seals;
  /** When the newest that we saw was signed, for each key: an older one that comes later is a copy. */
  readonly #newest = new Map<string, number>();

  private constructor(hub: Hub, names: Names["registers"], seals: Seals) {
    this.#hub = hub;
    this.#names = names;
    this.#seals = seals;
  }

  static async open(hub: Hub, names: Names, seals: Seals): Promise<NatsRegisters> {
    const { stream } = names.registers;
    const { RetentionPolicy, StorageType, DiscardPolicy } = hub.client.jetstream;
    await ensureStream(hub, {
      name: stream,
      subjects: [`$KV.${stream.slice("KV_".length)}.>`],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
      allow_direct: false,
      deny_delete: true,
    });
    return new NatsRegisters(hub, names.registers, seals);
  }

  async get<T>(key: string): Promise<Register<T> | undefined> {
    const found = await this.show<T>(key);
    return found !== undefined && counts(found.seal) ? { value: found.value, rev: found.rev } : undefined;
  }

  /** Also what nobody signed, or somebody else did: for people to look at. */
  async show<T>(key: string): Promise<Shown<T> | undefined> {
    const found = await this.#last(key);
    if (found === undefined || found.deleted) return undefined;
    return { key, value: found.value as T, rev: found.seq, seal: found.seal };
  }

  async #last(key: string): Promise<Last | undefined> {
    const subject = this.#names.subject(key);
    const found = await this.#hub.ask(({ streams }) =>
      streams.getMessage(this.#names.stream, { last_by_subj: subject }),
    );
    if (found === null) return undefined;
    const deleted = found.header?.has(OPERATION) ?? false;
    // What cannot be read is a register without a value: it can be set, and nobody is stuck with it.
    const value = deleted ? null : (parseJson(found.string()) ?? null);
    const sealed = { subject, payload: found.data, headers: found.header, more: deleted ? DELETED : "" };
    const whose = { host: this.#names.host(key), storedMs: found.time.getTime() };
    const seal = this.#seals.judge("register", { ...sealed, ...whose });
    return {
      seq: found.seq,
      deleted,
      value,
      seal: seal === "signed" ? this.#inOrder(key, stampOf(found.header)) : seal,
    };
  }

  #inOrder(key: string, stamp: number): Seal {
    if (key.startsWith("asks/")) return "signed"; // Each is of its own question, which is heard once.
    const newest = this.#newest.get(key) ?? 0;
    this.#newest.set(key, Math.max(newest, stamp));
    if (stamp >= newest) return "signed";
    this.#seals.doubt(this.#names.subject(key), "it is a copy of an old one");
    return "old";
  }

  async set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const set = await this.#put(key, value, rev);
    if (set !== undefined || rev !== 0) return set;
    // There may be the mark of one that was emptied, or what nobody signed who may: for us that is none.
    const found = await this.#last(key);
    const isNone = found !== undefined && (found.deleted || !counts(found.seal));
    return isNone ? await this.#put(key, value, found.seq) : undefined;
  }

  async #put(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const subject = this.#names.subject(key);
    const payload = value === null ? "" : JSON.stringify(value);
    const headers = {
      ...expecting(rev),
      ...(value === null ? { [OPERATION]: DELETED } : {}),
      ...this.#seals.headers("register", subject, payload, value === null ? DELETED : "", this.#newest.get(key)),
    };
    try {
      const { result, seq } = await publish(this.#hub, { subject, payload, headers });
      if (result !== "stored") return undefined;
      return value === null ? 0 : seq;
    } catch (error) {
      if (!(error instanceof MidwatchError && error.code === "HUB_AWAY")) throw error;
      throw new MidwatchError("OUTCOME_UNKNOWN", `Whether ${key} was set is not known: the hub did not answer.`, {
        hint: "Read it again.",
        cause: error,
      });
    }
  }

  async keys(prefix: string): Promise<string[]> {
    return (await this.all(prefix)).flatMap(({ key, seal }) => (counts(seal) ? [key] : []));
  }

  /** Sorted by key; also what nobody signed, or somebody else did. */
  async all<T>(prefix: string): Promise<Shown<T>[]> {
    const { stream } = this.#names;
    const info = await this.#hub.ask(({ streams }) => streams.info(stream, { subjects_filter: ">" }));
    const keys = Object.keys(info.state.subjects ?? {}).map((subject) => this.#names.key(subject));
    const begin = keys.filter((key) => key.startsWith(prefix));
    const found = await Promise.all(begin.sort().map((key) => this.show<T>(key)));
    return found.filter((one) => one !== undefined);
  }
}
