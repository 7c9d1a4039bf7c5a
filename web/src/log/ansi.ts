/**
 * Text of terminals as pieces with classes. Colours and weights are kept; every other control sequence is dropped, so nothing that an
 * agent prints can do anything but be read.
 */

export interface Piece {
  text: string;
  /** Names of CSS classes; empty for plain text. */
  look: string;
}

// CSI with its parameters, OSC up to its end (a title, a link), or another escape of two characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const ESCAPE = /\u001b(?:\[([\d;:?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is left of them is not for people
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

interface TextStyle {
  colour: number | undefined;
  ground: number | undefined;
  marks: Set<string>;
}

export function pieces(text: string): Piece[] {
  if (!text.includes("\u001b")) return [{ text: clean(text), look: "" }];
  const found: Piece[] = [];
  let look: TextStyle = { colour: undefined, ground: undefined, marks: new Set() };
  let from = 0;
  const put = (to: number): void => {
    const part = clean(text.slice(from, to));
    if (part !== "") found.push({ text: part, look: classes(look) });
  };
  for (const match of text.matchAll(ESCAPE)) {
    put(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") look = changed(look, match[1] ?? "");
  }
  put(text.length);
  return found.length > 0 ? found : [{ text: "", look: "" }];
}

export function strip(text: string): string {
  return clean(text.includes("\u001b") ? text.replaceAll(ESCAPE, "") : text);
}

/** A line that a progress bar wrote over shows its last state, as a terminal would. */
function clean(text: string): string {
  const last = text.replace(/\r+$/, "");
  return last.slice(last.lastIndexOf("\r") + 1).replaceAll(CONTROL, "");
}

const MARKS: Readonly<Record<number, string>> = { 1: "b", 2: "d", 3: "i", 4: "u", 9: "s" };
const ENDS: Readonly<Record<number, readonly string[]>> = { 22: ["b", "d"], 23: ["i"], 24: ["u"], 29: ["s"] };

function changed(look: TextStyle, parameters: string): TextStyle {
  const codes = parameters.split(/[;:]/).map(Number);
  const next: TextStyle = { ...look, marks: new Set(look.marks) };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) {
      next.colour = undefined;
      next.ground = undefined;
      next.marks.clear();
    } else if (MARKS[code]) next.marks.add(MARKS[code]);
    else if (ENDS[code]) for (const mark of ENDS[code]) next.marks.delete(mark);
    else if (code === 38 || code === 48) {
      const { colour, used } = extended(codes.slice(i + 1));
      if (code === 38) next.colour = colour;
      else next.ground = colour;
      i += used;
    } else setBasic(next, code);
  }
  return next;
}

function setBasic(look: TextStyle, code: number): void {
  if (code >= 30 && code <= 37) look.colour = code - 30;
  else if (code >= 90 && code <= 97) look.colour = code - 82;
  else if (code === 39) look.colour = undefined;
  else if (code >= 40 && code <= 47) look.ground = code - 40;
  else if (code >= 100 && code <= 107) look.ground = code - 92;
  else if (code === 49) look.ground = undefined;
}

/** 256 colours and true colour become the nearest of the sixteen that the theme has. */
function extended(rest: readonly number[]): { colour: number | undefined; used: number } {
  if (rest[0] === 5) return { colour: of256(rest[1] ?? 0), used: 2 };
  if (rest[0] === 2) return { colour: ofRgb(rest[1] ?? 0, rest[2] ?? 0, rest[3] ?? 0), used: 4 };
  return { colour: undefined, used: 1 };
}

function of256(n: number): number | undefined {
  if (n < 16) return n;
  if (n >= 232) return n < 244 ? 8 : n < 250 ? 7 : 15;
  const at = n - 16;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  return ofRgb(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

function ofRgb(r: number, g: number, b: number): number {
  const most = Math.max(r, g, b);
  if (most < 50) return 0;
  if (most - Math.min(r, g, b) < 30) return most < 150 ? 8 : 7;
  const bit = (value: number): number => (value > most * 0.6 ? 1 : 0);
  return bit(r) + bit(g) * 2 + bit(b) * 4 + (most > 210 ? 8 : 0);
}

function classes({ colour, ground, marks }: TextStyle): string {
  return [
    colour === undefined ? "" : `fg${colour}`,
    ground === undefined ? "" : `bg${ground}`,
    ...[...marks].map((mark) => `ansi-${mark}`),
  ]
    .filter(Boolean)
    .join(" ");
}
