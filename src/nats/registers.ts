/**
 * Registers as a bucket of NATS: one message for each key, set only when the last one is the one that was read. Read from the leader of
 * the stream, never from a copy that may lag. The revision is the message's number, so a value never has the revision of another.
 */
import { MidwatchError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Register, Registers } from "../journal/engine.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import { expecting, publish } from "./publish.ts";
import { ensureStream } from "./stream.ts";

const OPERATION = "KV-Operation";

export class NatsRegisters implements Registers {
  readonly #hub: Hub;
  readonly #names: Names["registers"];

  private constructor(hub: Hub, names: Names["registers"]) {
    this.#hub = hub;
    this.#names = names;
  }

  static async open(hub: Hub, names: Names): Promise<NatsRegisters> {
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
    return new NatsRegisters(hub, names.registers);
  }

  async get<T>(key: string): Promise<Register<T> | undefined> {
    const found = await this.#last(key);
    return found === undefined || found.deleted ? undefined : { value: found.value as T, rev: found.seq };
  }

  async #last(key: string): Promise<{ value: unknown; seq: number; deleted: boolean } | undefined> {
    const subject = this.#names.subject(key);
    const found = await this.#hub.ask(({ streams }) =>
      streams.getMessage(this.#names.stream, { last_by_subj: subject }),
    );
    if (found === null) return undefined;
    const deleted = found.header?.has(OPERATION) ?? false;
    // What cannot be read is a register without a value: it can be set, and nobody is stuck with it.
    return { seq: found.seq, deleted, value: deleted ? null : (parseJson(found.string()) ?? null) };
  }

  async set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const set = await this.#put(key, value, rev);
    if (set !== undefined || rev !== 0) return set;
    // There may be the mark of one that was emptied: for us that is none.
    const found = await this.#last(key);
    return found?.deleted ? await this.#put(key, value, found.seq) : undefined;
  }

  async #put(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const headers = { ...expecting(rev), ...(value === null ? { [OPERATION]: "DEL" } : {}) };
    const payload = value === null ? "" : JSON.stringify(value);
    try {
      const { result, seq } = await publish(this.#hub, { subject: this.#names.subject(key), payload, headers });
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
    const { stream } = this.#names;
    const info = await this.#hub.ask(({ streams }) => streams.info(stream, { subjects_filter: ">" }));
    const keys = Object.keys(info.state.subjects ?? {}).map((subject) => this.#names.key(subject));
    const begin = keys.filter((key) => key.startsWith(prefix));
    const found = await Promise.all(begin.map((key) => this.#last(key)));
    return begin.filter((_, i) => found[i] !== undefined && !found[i].deleted).sort();
  }
}
