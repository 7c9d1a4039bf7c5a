/** Publishing with an answer: one message, or several that the server stores together or not at all. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { MsgHdrs } from "@nats-io/transport-node";
import { MidwatchError } from "../core/errors.ts";
import { isUnheard } from "./fault.ts";
import type { Hub } from "./hub.ts";

export interface Outgoing {
  subject: string;
  payload: string;
  /** The server stores an id once, within its window. */
  id?: string;
  headers?: Readonly<Record<string, string>>;
}

/** `stored`; `conflict`: the expected last sequence was another; `duplicate`: an id of it was stored before, so nothing was stored. */
export interface Published {
  result: "stored" | "conflict" | "duplicate";
  /** Of the last message. */
  seq: number;
}

interface Answer {
  seq?: number;
  duplicate?: boolean;
  error?: { code: number; err_code: number; description: string };
}

/** Header of what a host forwards: the cursor before the event, in the journal of its host. */
export const AT = "Midwatch-At";
const UNHEARD_MS = 5000;
const AGAIN_MS = 100;
/** The second: a cluster is just storing another one for the same subject, and does not wait how that ends. */
const CONFLICT: readonly number[] = [10071, 10164];
const DUPLICATE_IN_BATCH = 10201;
const TOO_LONG = 10054;
/** No room: of the account, of the stream, of the disk. */
const FULL: readonly number[] = [10002, 10023, 10028, 10047, 10077];

/** What the last message of a subject has to be, or nothing is stored. 0: there is none. */
export function expecting(seq: number, subject?: string): Record<string, string> {
  return {
    "Nats-Expected-Last-Subject-Sequence": String(seq),
    ...(subject === undefined ? {} : { "Nats-Expected-Last-Subject-Sequence-Subject": subject }),
  };
}

export async function publish(hub: Hub, { subject, payload, id, headers }: Outgoing): Promise<Published> {
  const all = hub.headers({ ...(id === undefined ? {} : { "Nats-Msg-Id": id }), ...headers });
  return read(await answered(hub, subject, payload, all));
}

/** A stream that was just made is not known to every server of a cluster yet. What nobody heard was not stored, and may be sent again. */
async function answered(hub: Hub, subject: string, payload: string, headers: MsgHdrs): Promise<Answer> {
  for (const until = performance.now() + UNHEARD_MS; ; await sleep(AGAIN_MS)) {
    try {
      return (await hub.request(subject, payload, headers)).json<Answer>();
    } catch (error) {
      if (!isUnheard(error) || performance.now() > until) throw error;
    }
  }
}

export async function publishTogether(hub: Hub, messages: readonly Outgoing[]): Promise<Published> {
  const last = messages.at(-1);
  if (last === undefined) return { result: "stored", seq: 0 };
  const batch = randomBytes(9).toString("base64url");
  const fieldsOf = ({ id, headers }: Outgoing, n: number): Record<string, string> => ({
    ...headers,
    ...(id === undefined ? {} : { "Nats-Msg-Id": id }),
    "Nats-Batch-Id": batch,
    "Nats-Batch-Sequence": String(n),
  });
  for (const [i, message] of messages.slice(0, -1).entries()) {
    const headers = quickHeaders(hub, fieldsOf(message, i + 1));
    hub.connection.publish(message.subject, Buffer.from(message.payload), { headers });
  }
  const commit = hub.headers({ ...fieldsOf(last, messages.length), "Nats-Batch-Commit": "1" });
  return read((await hub.request(last.subject, last.payload, commit)).json<Answer>());
}

function read({ error, seq = 0, duplicate = false }: Answer): Published {
  if (error === undefined) return { result: duplicate ? "duplicate" : "stored", seq };
  if (CONFLICT.includes(error.err_code)) return { result: "conflict", seq: 0 };
  if (error.err_code === DUPLICATE_IN_BATCH) return { result: "duplicate", seq: 0 };
  if (error.err_code === TOO_LONG)
    throw new MidwatchError("TOO_LARGE", "The hub does not take a message of this size.", {
      hint: "Raise `max_payload` of the server to 8MB.",
    });
  if (FULL.includes(error.err_code))
    throw new MidwatchError("DISK_FULL", `The hub has no room: ${error.description}.`, {
      hint: "Give its JetStream more room (max_file_store), or take old messages out.",
    });
  throw new MidwatchError("HUB_AWAY", `The hub did not store it: ${error.description}.`, {
    hint: "Try again; what carries the same id is stored once.",
  });
}

/** Nothing that would end a line or be trimmed. */
const PLAIN = /^[!-~]*$/;

/**
 * Headers of the many messages of a batch. The client's own check every name letter by letter and look through all fields for each that
 * is set: four times the work of writing them down. It only ever encodes what it is given, so it is given the bytes. Names have to be
 * known ones; a value that is not plain, and a client that works in another way, get the client's own.
 */
function quickHeaders(hub: Hub, fields: Readonly<Record<string, string>>): MsgHdrs {
  let text = "NATS/1.0\r\n";
  for (const name in fields) {
    const value = fields[name] ?? "";
    if (!PLAIN.test(value)) return hub.headers(fields);
    text += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.from(`${text}\r\n`, "latin1");
  return hub.encodesHeaders ? ({ encode: () => bytes } as unknown as MsgHdrs) : hub.headers(fields);
}
