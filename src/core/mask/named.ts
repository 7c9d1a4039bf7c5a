/** Values that a name tells: `API_KEY=x`, `"password": "x"`, `--token x`, `<secret>x</secret>`, `Authorization: Bearer x`, `https://user:x@host`. */
import { alphabet, isIn, isWord, type Stretches } from "./alphabet.ts";
import { type Found, isEscapeLetter } from "./shapes.ts";
import { isRandom, isSecret } from "./value.ts";

export interface Word {
  word: string;
  /** Four characters at whose sight it is looked for, and where the word begins in them. */
  sight: string;
  at: number;
}

const word = (text: string, sight: string): Word => {
  const letters = sight.replace(/[!=]/, "");
  const lead = /^[_-]/.test(letters) ? 1 : 0;
  return { word: text, sight, at: lead - text.indexOf(letters.slice(lead)) };
};

export const NAMES: readonly Word[] = [
  word("key", "key!"),
  word("key-data", "y-da"),
  word("token", "ken!"),
  word("secret", "cret"),
  word("password", "sswo"),
  word("passwd", "sswd"),
  word("passphrase", "phra"),
  word("pwd", "pwd!"),
  word("pass", "_pas"),
  word("pat", "pat!"),
  word("auth", "uth!"),
  word("credentials", "cred"),
  word("credential", "cred"),
  word("creds", "cred"),
  word("login", "gin!"),
  word("session", "_ses"),
  word("sig", "sig="),
  word("jwt", "jwt!"),
  word("cookie", "kie!"),
  word("authorization", "riza"),
];
export const SCHEMES: readonly Word[] = [word("bearer", "bear"), word("basic", "basi")];
export const ADDRESS = "*://";

const [DOUBLE, SINGLE, TICK, BACKSLASH, SPACE, TAB] = [34, 39, 96, 92, 32, 9];
const [COLON, EQUALS, MORE, DASH, AT, SLASH, NEWLINE, RETURN] = [58, 61, 62, 45, 64, 47, 10, 13];
const NAME_MOST = 64;
const GAP_MOST = 12;
const VALUE_MOST = 512;
/** As much of a value is judged. */
const JUDGED = 80;
const VALUE_LEAST = 6;
const SCHEME_LEAST = 8;
/** `<password>`, `$PASSWORD`, `{password}`, `***`, `[password]` */
const PLACE_HOLDERS = new Set([..."<${*["].map((sign) => sign.charCodeAt(0)));
const NAME = alphabet("d");
const VALUE = alphabet("v");
const TOKEN = alphabet("t");
const LOUD = alphabet("c");
const WORDY = alphabet("q");
const SMALL = alphabet("k");

/** A text, and what is known of it so far. */
export interface Text {
  bytes: Uint8Array;
  runs: Stretches;
  /** What comes to the end of the text may go on. */
  open: boolean;
  /** Whether there is time to judge one more value. */
  judges(): boolean;
}

/** `last` is where the sight of the word ends. */
export function matchNamed(named: Word, given: Text, last: number): Found | undefined {
  const { bytes, runs, open } = given;
  const start = last - 3 + named.at;
  const end = start + named.word.length;
  if (!isWordAt(named.word, bytes, start) || isWord(bytes[end])) return undefined;
  const first = nameStart(bytes, start);
  const sign = signBehind(bytes, end, bytes[first] === DASH);
  if (sign < 0) return undefined;
  const plain = gap(bytes, sign);
  const from = named.word === "authorization" ? behindScheme(bytes, plain, runs) : plain;
  const quote = bytes[from - 1];
  const quoted = quote === DOUBLE || quote === SINGLE || quote === TICK;
  const to = quoted ? endOfQuoted(bytes, from, quote) : Math.min(runs.end(VALUE, from), from + VALUE_MOST);
  if (to <= from || (!quoted && bytes[first - 1] === COLON && bytes[end] === COLON)) return undefined; // `arn:x:secret:name`
  if (open && to === bytes.length) return { start: from, end: to };
  if (to - from < VALUE_LEAST) return undefined;
  const tight = from - sign <= (quoted ? 1 : 0) && sign - end === 1;
  const loud = tight && runs.end(LOUD, first) >= end;
  if (!quoted && !loud && from === plain && runs.end(SMALL, from) >= to) return undefined;
  if (!given.judges()) return runs.end(WORDY, from) >= to ? undefined : { start: from, end: to };
  const name = text(bytes, first, end).replace(/^-+/, "");
  const value = text(bytes, from, Math.min(to, from + JUDGED));
  return isSecret({ name, word: from > plain ? "scheme" : named.word, value, quoted, loud })
    ? { start: from, end: to }
    : undefined;
}

function nameStart(bytes: Uint8Array, word: number): number {
  let first = word;
  while (first > 0 && word - first < NAME_MOST && isIn(NAME, bytes[first - 1]) && bytes[first - 1] !== EQUALS) first--;
  return isEscapeLetter(bytes, first) ? first + 1 : first;
}

/** `Bearer x` wherever it stands: only what is no word. */
export function matchScheme(scheme: Word, { bytes, runs, judges }: Text, last: number): Found | undefined {
  const start = last - 3 + scheme.at;
  const end = start + scheme.word.length;
  if (!isWordAt(scheme.word, bytes, start)) return undefined;
  let from = end;
  while (from - end < GAP_MOST && (bytes[from] === SPACE || bytes[from] === TAB)) from++;
  const to = runs.end(TOKEN, from);
  if (from === end || to - from < SCHEME_LEAST) return undefined;
  const isOne = judges() ? isRandom(text(bytes, from, Math.min(to, from + JUDGED))) : runs.end(WORDY, from) < to;
  return isOne ? { start: from, end: to } : undefined;
}

/** The password of an address; `last` is the second slash. */
export function matchAddress(bytes: Uint8Array, last: number, open: boolean): Found | undefined {
  let colon = -1;
  for (let i = last + 1; i < bytes.length && i - last <= VALUE_MOST; i++) {
    const byte = bytes[i] as number;
    if (byte === AT) {
      const from = colon + 1;
      return colon < 0 || i - from < 3 || PLACE_HOLDERS.has(bytes[from] as number)
        ? undefined
        : { start: from, end: i };
    }
    if (byte <= SPACE || byte === SLASH || byte === DOUBLE || byte === SINGLE || byte === BACKSLASH) return undefined;
    if (byte === COLON && colon < 0) colon = i;
    if (colon < 0 && i - last > NAME_MOST) return undefined;
  }
  const rest = open && colon >= 0 ? text(bytes, colon + 1, Math.min(bytes.length, colon + VALUE_MOST)) : "";
  return /\D/.test(rest) ? { start: colon + 1, end: bytes.length } : undefined;
}

function isWordAt(word: string, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < word.length; i++) if (((bytes[at + i] ?? 0) | 32) !== word.charCodeAt(i)) return false;
  return at >= 0;
}

/** Behind `:`, `=`, `:=`, `=>` or `>`; a flag of a command needs a space only. Undefined as -1. */
function signBehind(bytes: Uint8Array, end: number, flag: boolean): number {
  let at = end;
  while (at - end < GAP_MOST && isGap(bytes, at)) at++;
  const sign = bytes[at];
  if (sign === MORE) return at + 1;
  if (sign !== COLON && sign !== EQUALS) return flag && at > end && at < bytes.length ? end + 1 : -1;
  const next = bytes[at + 1];
  if (sign === EQUALS && (next === EQUALS || next === 126)) return -1; // A comparison tells nothing.
  return sign === COLON && next === COLON ? -1 : next === EQUALS || next === MORE ? at + 2 : at + 1;
}

function gap(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at - from < GAP_MOST && isGap(bytes, at)) at++;
  return at;
}

/** Spaces of any kind, quotes, also those with backslashes before them; no new line, and no other escape. */
function isGap(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at];
  if (byte === undefined || byte === NEWLINE || byte === RETURN) return false;
  if (byte === BACKSLASH) return isQuote(bytes[at + 1]);
  return byte <= SPACE || byte >= 0x80 || isQuote(byte);
}

function isQuote(byte: number | undefined): boolean {
  return byte === DOUBLE || byte === SINGLE || byte === TICK || byte === BACKSLASH;
}

function behindScheme(bytes: Uint8Array, from: number, runs: Stretches): number {
  const end = runs.end(alphabet("a"), from);
  return bytes[end] === SPACE && end - from <= 16 && end > from ? gap(bytes, end) : from;
}

function endOfQuoted(bytes: Uint8Array, from: number, quote: number): number {
  let at = from;
  while (at < bytes.length && at - from < VALUE_MOST) {
    const byte = bytes[at] as number;
    // The string of JSON around it may end first.
    if (byte === quote || byte === DOUBLE || byte === BACKSLASH || byte === NEWLINE) break;
    at++;
  }
  return at;
}

function text(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
}
