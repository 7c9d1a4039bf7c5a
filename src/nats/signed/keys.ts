/** The nkeys of a hub as keys that sign. The client's own signing is a hundred times slower than the system's, which knows the same curve. */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** Whoever holds the seed of a key. */
export interface Signer {
  /** Public, as the hub writes it. */
  readonly key: string;
  sign(text: string): string;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** What stands before the 32 bytes of a key of this curve (RFC 8410). */
const PRIVATE = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC = Buffer.from("302a300506032b6570032100", "hex");
const BYTES = 32;

/** Of a user: the only kind that people and hosts have. */
export function isPublicKey(text: unknown): text is string {
  return typeof text === "string" && /^U[A-Z2-7]{55}$/.test(text);
}

/** `key` is the public one, which the client makes of the seed. */
export function signerOf(seed: string, key: string): Signer {
  const der = Buffer.concat([PRIVATE, decoded(seed).subarray(2, 2 + BYTES)]);
  const secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { key, sign: (text) => sign(null, Buffer.from(text), secret).toString("base64url") };
}

export function isSignedBy(key: string, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "base64url");
  return bytes.length === 64 && verify(null, Buffer.from(text), publicKey(key), bytes);
}

function publicKey(key: string): KeyObject {
  let found = known.get(key);
  if (found === undefined) {
    const der = Buffer.concat([PUBLIC, decoded(key).subarray(1, 1 + BYTES)]);
    found = createPublicKey({ key: der, format: "der", type: "spki" });
    known.set(key, found);
  }
  return found;
}
/** Only keys that a person has named come here. */
const known = new Map<string, KeyObject>();

function decoded(text: string): Buffer {
  const bytes: number[] = [];
  let [bits, value] = [0, 0];
  for (const letter of text) {
    value = ((value << 5) | LETTERS.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  return Buffer.from(bytes);
}
