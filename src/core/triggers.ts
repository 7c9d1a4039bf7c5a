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

/** `parts[i]` belongs to pattern i; in it * is a letter, digit or one of _-+. and ! is what may follow a name. At most 31. */
export function triggers(parts: readonly string[]): (text: string | Uint8Array) => number {
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
