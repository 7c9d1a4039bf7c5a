/**
 * Secrets that are known by value: what a run's environment holds under a name such as API_TOKEN. The values themselves are
 * written nowhere. A run keeps fingerprints: a salt, and of each value its length, 16 bits of two salted hashes that rule most text
 * out at a glance, and a SHA-256 that decides. So text can be searched for a secret by those who do not know it.
 */
import { createHash, randomBytes } from "node:crypto";
import { has, listOf, name, type Shape, whole } from "./shape/shape.ts";

interface SecretPrint {
  /** Length in bytes of UTF-8. */
  bytes: number;
  /** Of the first bytes. */
  head: number;
  /** Of all bytes. */
  whole: number;
  /** Of the salt and the value. */
  sha256: string;
}

/** secrets.json */
export interface SecretPrints {
  v: 1;
  salt: string;
  values: SecretPrint[];
}

export const SECRET_PRINTS: Shape = {
  salt: name,
  values: listOf(has({ bytes: whole, head: whole, whole, sha256: name })),
};

export interface Span {
  start: number;
  end: number;
}

export interface SecretFinder {
  /** The longest value that it knows, in bytes. */
  readonly longest: number;
  /** Where values stand, in order; those that overlap are one. */
  find(bytes: Uint8Array): Span[];
}

export const MASK = "[masked]";
const MASK_BYTES = Buffer.from(MASK);
const VALUE_MIN = 8;
/** Longer than any token; a certificate or a whole file in a variable is found by its lines. */
const VALUE_MAX = 16 << 10;

/** Words that tell a secret, anywhere in a name or as a part of it between underscores. */
const TELLING =
  /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|APIKEY|(^|_)(PASS|PWD|PW|PAT|JWT|DSN|COOKIE|BEARER)(_|$)/;
const TELLING_PART = /(^|_)[A-Z0-9]*(KEY|KEYS|AUTH|AUTHORIZATION)(_|$)/;
/** TOKEN_URL, KEY_FILE: about a secret, but none. */
const ABOUT =
  /(^|_)(FILE|FILES|PATH|DIR|HOME|SOCK|URL|URI|HOST|PORT|ENDPOINT|REGION|TYPE|METHOD|MODE|NAME|ALGORITHM|PROVIDER|COUNT|LIMIT|SIZE|TIMEOUT|TTL|ENABLED|DISABLED|VERSION|FORMAT|HELPER|PROMPT|ASKPASS)$|^(OLD)?PWD$/;
const PLACE =
  /^(~|\.{1,2})?\/(home|usr|etc|var|tmp|run|opt|root|mnt|media|srv|dev|proc|sys|bin|lib|snap|nix|Users|private|Applications|Library|workspace|workspaces|app|data)(\/|$)|^~?\.{0,2}\/?$/;
/** Said so often that hiding it would hide half of a log, and known to everybody. */
const COMMON: ReadonlySet<string> = new Set(
  "password passw0rd changeme undefined disabled required optional localhost postgres postgresql development production test-token testtest 12345678 123456789 1234567890 username anonymous administrator example placeholder interactive automatic".split(
    " ",
  ),
);

/** The values of variables whose names tell that they are secret. */
export function secretValues(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !isSecretName(name)) continue;
    // A value of several lines is printed line by line.
    for (const part of value.length > VALUE_MAX || /[\r\n]/.test(value) ? value.split(/[\r\n]+/) : [value]) {
      const text = part.trim();
      if ([...text].length >= VALUE_MIN && text.length <= VALUE_MAX && !isCommon(name, text)) found.add(text);
    }
    if (/[\r\n]/.test(value) && value.length <= VALUE_MAX) found.add(value);
  }
  return [...found];
}

function isSecretName(name: string): boolean {
  const upper = name.toUpperCase().replaceAll("-", "_");
  if (upper === "MIDWATCH_CAPABILITY") return true;
  return (TELLING.test(upper) || TELLING_PART.test(upper)) && !ABOUT.test(upper);
}

function isCommon(name: string, value: string): boolean {
  if (COMMON.has(value.toLowerCase()) || PLACE.test(value)) return true;
  if (/^(.)\1*$/.test(value)) return true; // xxxxxxxx, ********
  return /TOKENS$/i.test(name) && /^\d+$/.test(value); // MAX_TOKENS
}

/** As it is, and as it stands in JSON: as our own runtime writes it, in ASCII only, with \/, with < > & escaped, and in JSON in JSON. */
function formsOf(value: string): Set<string> {
  const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
  const unicode = (text: string, which: RegExp): string =>
    text.replace(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const once = inJson(value);
  const ascii = unicode(once, /[\u007f-\uffff]/g);
  const web = unicode(once, /[<>&\u2028\u2029]/g);
  return new Set([value, once, ascii, web, once.replaceAll("/", "\\/"), inJson(once), inJson(ascii)]);
}

export function fingerprint(values: readonly string[]): SecretPrints {
  const salt = randomBytes(16);
  const bases = basesOf(salt);
  const forms = new Set(values.flatMap((value) => [...formsOf(value)]));
  return {
    v: 1,
    salt: salt.toString("hex"),
    values: [...forms].map((form) => {
      const bytes = Buffer.from(form);
      return {
        bytes: bytes.length,
        head: hash(bytes, 0, VALUE_MIN, bases.head) >>> 16,
        whole: hash(bytes, 0, bytes.length, bases.whole) >>> 16,
        sha256: digest(salt, bytes),
      };
    }),
  };
}

/** Undefined when there is nothing to look for. */
export function secretFinder(prints: SecretPrints | undefined): SecretFinder | undefined {
  if (!prints?.values.length) return undefined;
  const salt = Buffer.from(prints.salt, "hex");
  const bases = basesOf(salt);
  const byHead = new Map<number, SecretPrint[]>();
  const heads = new Uint8Array(1 << 13);
  for (const print of prints.values) {
    byHead.set(print.head, [...(byHead.get(print.head) ?? []), print]);
    heads[print.head >>> 3] = (heads[print.head >>> 3] ?? 0) | (1 << (print.head & 7));
  }
  const isHere = (text: Uint8Array, start: number, { bytes, whole, sha256 }: SecretPrint): boolean =>
    start + bytes <= text.length &&
    hash(text, start, start + bytes, bases.whole) >>> 16 === whole &&
    digest(salt, text.subarray(start, start + bytes)) === sha256;
  const scan = scanner(bases.head, heads);
  return {
    longest: Math.max(...prints.values.map(({ bytes }) => bytes)),
    find(text) {
      const spans: Span[] = [];
      scan(text, (start, head) => {
        for (const print of byHead.get(head) ?? [])
          if (isHere(text, start, print)) join(spans, start, start + print.bytes);
      });
      return spans;
    },
  };
}

/** Tells each place whose first bytes have one of the wanted hashes. Nothing but local numbers in the loop: it sees every byte. */
function scanner(base: number, wanted: Uint8Array) {
  const leaving = leavingTable(base);
  return (text: Uint8Array, candidate: (start: number, head: number) => void): void => {
    const { length } = text;
    if (length < VALUE_MIN) return;
    let h = hash(text, 0, VALUE_MIN - 1, base);
    for (let i = VALUE_MIN - 1; i < length; i++) {
      h = (Math.imul(h, base) + (text[i] as number)) | 0;
      const head = h >>> 16;
      if ((((wanted[head >>> 3] as number) >>> (head & 7)) & 1) === 1) candidate(i - VALUE_MIN + 1, head);
      h = (h - (leaving[text[i - VALUE_MIN + 1] as number] as number)) | 0;
    }
  };
}

/** The bytes of [from, to) with each value replaced; one that only reaches into the range is replaced, too. */
export function replaceSpans(bytes: Buffer, spans: readonly Span[], from = 0, to: number = bytes.length): Buffer {
  const out = Buffer.allocUnsafe(Math.max(0, to - from) + spans.length * MASK_BYTES.length);
  let length = 0;
  let at = from;
  const keep = (end: number): void => {
    for (; at < end; at++) out[length++] = bytes[at] as number;
  };
  for (const { start, end } of spans) {
    if (end <= from || start >= to) continue;
    if (start - at > COPIED) {
      length += bytes.copy(out, length, at, start);
      at = start;
    } else keep(start);
    out.set(MASK_BYTES, length);
    length += MASK_BYTES.length;
    at = end;
  }
  if (at < to) length += bytes.copy(out, length, at, to);
  return out.subarray(0, length);
}
/** Up to here a loop is faster than a call. */
const COPIED = 64;

function join(spans: Span[], start: number, end: number): void {
  const last = spans.at(-1);
  if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
  else spans.push({ start, end });
}

/** A polynomial modulo 2^32; its base is odd and comes from the salt, so that nobody can make text that collides. */
function hash(bytes: Uint8Array, from: number, to: number, base: number): number {
  let h = 0;
  for (let i = from; i < to; i++) h = (Math.imul(h, base) + (bytes[i] as number)) | 0;
  return h;
}

/** What each byte has become by the time that it leaves the window. */
function leavingTable(base: number): Int32Array {
  let power = 1;
  for (let i = 1; i < VALUE_MIN; i++) power = Math.imul(power, base);
  return Int32Array.from({ length: 256 }, (_, byte) => Math.imul(byte, power));
}

function basesOf(salt: Uint8Array): { head: number; whole: number } {
  const view = createHash("sha256").update("midwatch bases").update(salt).digest();
  return { head: view.readInt32LE(0) | 1, whole: view.readInt32LE(4) | 1 };
}

function digest(salt: Uint8Array, bytes: Uint8Array): string {
  return createHash("sha256").update(salt).update(bytes).digest("hex");
}
