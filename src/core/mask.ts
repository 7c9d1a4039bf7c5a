/**
 * Hides secrets where text leaves midwatch; files keep exact bytes. Knows the shapes of common keys, the words people put before
 * a password, and by fingerprint the values that a run's environment holds. What is none of these cannot be known: this is a net,
 * not a wall.
 */
import { isUtf8 } from "node:buffer";
import { MASK, replaceSpans, type SecretFinder } from "./secret-values.ts";

interface Rule {
  pattern: RegExp;
  /** The word stays, the value goes. */
  named?: true;
  /** Four-letter parts, one of which stands in everything that matches; * is any letter, digit, _ or -, ! what may follow a word. */
  parts: string;
}

export const RULES: readonly Rule[] = [
  // Anthropic, OpenAI, Stripe-like, OpenRouter
  {
    pattern: /\b(?:sk|pk|rk)-(?:ant-|proj-|live-|test-|or-)?[A-Za-z0-9_-]{16,}/g,
    parts: "sk-* pk-* rk-*",
  },
  { pattern: /\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}/g, parts: "sk_l sk_t pk_l pk_t rk_l rk_t" },
  {
    pattern: /\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{18,}/g,
    parts: "ghp_ gho_ ghu_ ghs_ ghr_ hub_ lpat",
  },
  { pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, parts: "akia asia" },
  { pattern: /\bAIza[0-9A-Za-z_-]{30,}/g, parts: "aiza" },
  { pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g, parts: "xox*" },
  { pattern: /\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{30,}/g, parts: "npm_ hf_*" },
  { pattern: /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, parts: "eyj*" }, // JWT
  {
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
    parts: "--be",
  },
  // `Authorization: Bearer x`, `api_key=x`, `"password": "x"`, `https://user:x@host`
  { pattern: /(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{8,}=*/gi, parts: "bear basi", named: true },
  {
    pattern:
      /((?:api[_-]?key|access[_-]?key|secret[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token|refresh[_-]?token|password|passwd|secret)\\?["']?\s*[:=]\s*\\?["']?)[^\s"',;&\\]{6,}/gi,
    parts: "key! ken! sswo sswd cret",
    named: true,
  },
  { pattern: /((?<=[a-z0-9+.-]):\/\/[^\s:/@"']{1,64}:)[^\s@/"']{3,}(?=@)/gi, parts: "*://", named: true },
];
/** Which rules can match at all: asked first, because nearly all text has nothing to hide and twelve patterns are slow. */
function rulesFor(text: string | Uint8Array): number {
  trigger ??= triggers(RULES.map(({ parts }) => parts));
  return trigger(text);
}
let trigger: ReturnType<typeof triggers> | undefined;

export interface Masker {
  /** How many places were hidden so far. */
  readonly count: number;
  text(text: string): string;
  /** Every string in a JSON value, keys included. */
  value(value: unknown): unknown;
  /** A line that has nothing to hide stays byte for byte as it is, also when it is not UTF-8. */
  bytes(bytes: Buffer): Buffer;
  /** Whether `bytes` would leave them as they are. Counts nothing. */
  leaves(bytes: Buffer): boolean;
  /** Whether a line of JSON has nothing to hide, behind its escapes neither. */
  isClean(line: Uint8Array): boolean;
}

export function masker(finder?: SecretFinder): Masker {
  let count = 0;
  const shapes = (text: string, which: number): string => {
    let masked = text;
    for (const [i, { pattern, named }] of which === 0 ? [] : RULES.entries()) {
      if (((which >>> i) & 1) === 0) continue;
      masked = masked.replace(pattern, (_, kept: unknown) => {
        count++;
        return named ? `${kept}${MASK}` : MASK;
      });
    }
    return masked;
  };
  const known = (bytes: Buffer): Buffer | undefined => {
    const spans = finder?.find(bytes) ?? [];
    count += spans.length;
    return spans.length === 0 ? undefined : replaceSpans(bytes, spans);
  };
  const text = (given: string): string => {
    // Values first: a shape within a value must not leave the rest of the value behind. Two characters cannot hold one.
    const without = finder === undefined || given.length < 3 ? given : (known(Buffer.from(given))?.toString() ?? given);
    return shapes(without, rulesFor(without));
  };
  const value = (given: unknown): unknown => {
    if (typeof given === "string") return text(given);
    if (typeof given === "number") return finder !== undefined && text(String(given)) !== String(given) ? MASK : given;
    if (Array.isArray(given)) return given.map(value);
    if (typeof given !== "object" || given === null) return given;
    return Object.fromEntries(Object.entries(given).map(([key, inner]) => [text(key), named(key, inner)]));
  };
  /** `{"password": "x"}`: the key tells what the value is. */
  const named = (key: string, given: unknown): unknown => {
    const probe = `${key}=`;
    if (typeof given !== "string" || rulesFor(probe) === 0) return value(given);
    const before = count;
    if (text(probe + given).startsWith(`${probe}${MASK}`)) {
      count = before + 1;
      return MASK;
    }
    count = before;
    return text(given);
  };
  const bytes = (given: Buffer): Buffer => {
    const without = known(given) ?? given;
    const which = rulesFor(without);
    if (which === 0) return without;
    const encoding = isUtf8(without) ? "utf8" : "latin1";
    const text = without.toString(encoding);
    const masked = shapes(text, which);
    return masked === text ? without : Buffer.from(masked, encoding);
  };
  return {
    get count() {
      return count;
    },
    text,
    value,
    bytes,
    leaves(given) {
      const before = count;
      const same = bytes(given) === given;
      count = before;
      return same;
    },
    isClean(line) {
      return rulesFor(line) === 0 && (finder === undefined || finder.find(line).length === 0) && !hasRareEscape(line);
    },
  };
}

/** `\u0041` and `\/`: escapes that can hide the letters of a secret. The others (`\n`, `\"`, `\\`) stand for none. */
function hasRareEscape(line: Uint8Array): boolean {
  for (let i = line.indexOf(92); i >= 0; i = line.indexOf(92, i + 2))
    if (line[i + 1] === 117 || line[i + 1] === 47) return true;
  return false;
}

/** Where no agent is known, and so no value. */
const general = masker();

export function maskText(text: string): string {
  return general.text(text);
}

export function maskValue(value: unknown): unknown {
  return general.value(value);
}

/**
 * Tells at a glance which of several patterns can match a text at all, by parts of four characters that everything they match
 * contains. One look at each character, whatever the number of patterns.
 */

const WORD = "abcdefghijklmnopqrstuvwxyz0123456789_-+.";
/**
 * What may stand behind a name and before its value; NUL is every character above Latin-1, such as other kinds of spaces, and the
 * last five are the bytes that such a space begins with in UTF-8.
 */
const AFTER = "\"'\\:= \t\n\r\v\f\u00a0\0\u00c2\u00e1\u00e2\u00e3\u00ef";
const TABLE_BITS = 16;
const MIX = 0x9e3779b1;

/**
 * Tells at a glance which of several patterns can match a text at all, by parts of four characters that everything they match
 * contains: one look at each character, whatever the number of patterns. `parts[i]` belongs to pattern i; in it * is a letter, digit
 * or one of _-+. and ! is what may follow a name. At most 31.
 */
function triggers(parts: readonly string[]): (text: string | Uint8Array) => number {
  const exact = new Map<number, number>();
  const table = new Uint8Array(1 << TABLE_BITS);
  for (const [i, list] of parts.entries()) {
    for (const part of list.split(" ").flatMap(spellings)) {
      const window = [...part].reduce((sum, letter) => (sum << 8) | letter.charCodeAt(0), 0);
      exact.set(window, (exact.get(window) ?? 0) | (1 << i));
      table[Math.imul(window, MIX) >>> (32 - TABLE_BITS)] = 1;
    }
  }
  const lower = LOWER;
  const ofBytes = (text: Uint8Array): number => {
    const { length } = text;
    let which = 0;
    let window = 0;
    for (let i = 0; i < length; i++) {
      window = (window << 8) | (lower[text[i] as number] as number);
      if (table[Math.imul(window, MIX) >>> (32 - TABLE_BITS)] !== 0) which |= exact.get(window) ?? 0;
    }
    return which;
  };
  const ofText = (text: string): number => {
    const { length } = text;
    let which = 0;
    let window = 0;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      window = (window << 8) | (code < 256 ? (lower[code] as number) : 0);
      if (table[Math.imul(window, MIX) >>> (32 - TABLE_BITS)] !== 0) which |= exact.get(window) ?? 0;
    }
    return which;
  };
  return (text) => (typeof text === "string" ? ofText(text) : ofBytes(text));
}

const LOWER = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code));

function spellings(part: string): string[] {
  for (const [sign, letters] of [
    ["*", WORD],
    ["!", AFTER],
  ] as const) {
    const at = part.indexOf(sign);
    if (at >= 0) return [...letters].flatMap((letter) => spellings(part.slice(0, at) + letter + part.slice(at + 1)));
  }
  return [part];
}
