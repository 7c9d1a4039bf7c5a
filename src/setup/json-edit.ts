/**
 * Sets or removes one member of a JSON text and leaves every other byte as it is: comments, trailing commas, the order of members and large
 * numbers too. Made for the configuration files of other programs, which must not be parsed and printed anew.
 */

/** The text with `value` at `path`, or undefined when the text is not what it should be: objects all along the path. */
export function setMember(text: string, path: readonly [string, ...string[]], value: unknown): string | undefined {
  if (text.trim() === "") return setMember("{}\n", path, value);
  try {
    return set(text, skip(text, 0), path, value, 1);
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

/** The text without the member at `path`: itself when there is none, undefined when it is not what it should be. */
export function removeMember(text: string, path: readonly string[]): string | undefined {
  if (text.trim() === "") return text;
  try {
    return remove(text, skip(text, 0), path);
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

function remove(text: string, at: number, [key, ...rest]: readonly string[]): string {
  if (text[at] !== "{") throw new NotJson();
  const all = members(text, at);
  const i = all.findIndex(({ name }) => name === key);
  const found = all[i];
  if (found === undefined) return text;
  if (rest.length > 0) return remove(text, found.start, rest);
  const next = all[i + 1];
  // The comma goes with it: that behind it, or for the last one that before it.
  return next === undefined
    ? splice(text, all[i - 1]?.end ?? at + 1, found.end, "")
    : splice(text, found.at, next.at, "");
}

class NotJson extends Error {}

function set(text: string, at: number, [key, ...rest]: readonly string[], value: unknown, depth: number): string {
  if (text[at] !== "{") throw new NotJson();
  const step = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const found = members(text, at).find(({ name }) => name === key);
  if (found !== undefined) {
    if (rest.length > 0) return set(text, found.start, rest, value, depth + 1);
    return splice(text, found.start, found.end, printed(value, step, depth));
  }
  const whole = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const first = skip(text, at + 1);
  const line = `\n${step.repeat(depth)}${JSON.stringify(key)}: ${printed(whole, step, depth)}`;
  // At the beginning: there a comma is never missing and never one too many.
  if (text[first] === "}") return splice(text, at + 1, first, `${line}\n${step.repeat(depth - 1)}`);
  return splice(text, at + 1, at + 1, `${line},`);
}

function printed(value: unknown, step: string, depth: number): string {
  return JSON.stringify(value, null, step).replaceAll("\n", `\n${step.repeat(depth)}`);
}

function splice(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

interface Member {
  name: string;
  at: number;
  /** Of its value. */
  start: number;
  end: number;
}

/** The members of the object that begins at `at`. */
function members(text: string, at: number): Member[] {
  const found: Member[] = [];
  for (let i = skip(text, at + 1); text[i] !== "}"; ) {
    const key = stringEnd(text, i);
    const colon = skip(text, key);
    if (text[colon] !== ":") throw new NotJson();
    const start = skip(text, colon + 1);
    const end = valueEnd(text, start);
    found.push({ name: JSON.parse(text.slice(i, key)) as string, at: i, start, end });
    i = skip(text, end);
    if (text[i] === ",") i = skip(text, i + 1);
    else if (text[i] !== "}") throw new NotJson();
  }
  return found;
}

function valueEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at);
  if (text[at] === "{") return skip(text, members(text, at).at(-1)?.end ?? at + 1, true) + 1;
  if (text[at] === "[") {
    let i = skip(text, at + 1);
    while (text[i] !== "]") {
      i = skip(text, valueEnd(text, i));
      if (text[i] === ",") i = skip(text, i + 1);
      else if (text[i] !== "]") throw new NotJson();
    }
    return i + 1;
  }
  const [word = ""] = /^[\w+.-]+/.exec(text.slice(at, at + 64)) ?? [];
  if (word === "") throw new NotJson();
  return at + word.length;
}

function stringEnd(text: string, at: number): number {
  const [whole] = /^"(?:[^"\\\n]|\\.)*"/.exec(text.slice(at)) ?? [];
  if (whole === undefined) throw new NotJson();
  return at + whole.length;
}

/** Behind white space and comments; with `comma`, behind a trailing one too. */
function skip(text: string, at: number, comma = false): number {
  const space = /(?:\s|\uFEFF|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
  space.lastIndex = at;
  const end = at + (space.exec(text)?.[0].length ?? 0);
  if (comma && text[end] === ",") return skip(text, end + 1);
  if (end >= text.length) throw new NotJson();
  return end;
}
