/** Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body, in base64, behind `v1,`. */
import { createHmac } from "node:crypto";

const PREFIX = "whsec_";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** As the specification wants it. */
const BYTES_MIN = 24;
const BYTES_MAX = 64;

/** The key in a secret such as `whsec_MfKQ9r8G...`; undefined when it is none. */
export function keyOfSecret(secret: string): Buffer | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (!BASE64.test(text)) return undefined;
  const key = Buffer.from(text, "base64");
  return key.length >= BYTES_MIN && key.length <= BYTES_MAX ? key : undefined;
}

export function signed(key: Buffer, id: string, atMs: number, body: string): Record<string, string> {
  const seconds = String(Math.floor(atMs / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": `v1,${signature}` };
}
