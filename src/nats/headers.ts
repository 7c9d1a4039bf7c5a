/**
 * Headers of the many messages of a batch. The client's own check every name letter by letter and look through all fields for each that
 * is set: four times the work of writing them down. It only ever encodes what it is given, so it is given the bytes.
 */
import type { MsgHdrs } from "@nats-io/transport-node";
import type { Hub } from "./hub.ts";

/** Nothing that would end a line or be trimmed. */
const PLAIN = /^[!-~]*$/;

/** Names have to be known ones; a value that is not plain, and a client that works in another way, get the client's own. */
export function quickHeaders(hub: Hub, fields: Readonly<Record<string, string>>): MsgHdrs {
  let text = "NATS/1.0\r\n";
  for (const name in fields) {
    const value = fields[name] ?? "";
    if (!PLAIN.test(value)) return hub.headers(fields);
    text += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.from(`${text}\r\n`, "latin1");
  return hub.encodesHeaders ? ({ encode: () => bytes } as unknown as MsgHdrs) : hub.headers(fields);
}
