/** Looking into JSON of which nothing is known. What is nested deeper than we can walk is as good as torn. */
import { MidwatchError } from "./errors.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Of facts, registers and other small files. */
export const FACT_DEPTH = 64;
/** Of lines of a log or a journal. */
export const LINE_DEPTH = 256;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined when the text is none. */
export function parseJson(text: string): unknown {
  try {
    return parseWithin(text, LINE_DEPTH);
  } catch {
    return undefined;
  }
}

/** As JSON.parse, which takes any depth; JSON.stringify and whoever walks the value do not. */
export function parseWithin(text: string, deepest: number): unknown {
  const value: unknown = JSON.parse(text);
  if (text.length > 2 * deepest && opens(text, deepest) && isDeeper(value, deepest))
    throw new SyntaxError(`nested deeper than ${deepest} levels`);
  return value;
}

/** Whether it has more brackets than that; most lines have not, and need no walk. */
function opens(text: string, most: number): boolean {
  let left = most;
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (left-- === 0) return true;
  return false;
}

/** What comes through a door is written into a line, and read again. */
export function assertFlat(data: unknown): void {
  if (!isDeeper(data, LINE_DEPTH - 1)) return;
  throw new MidwatchError("USAGE", `The data is nested deeper than ${LINE_DEPTH - 1} levels.`, {
    hint: "Make it flatter, or put it into a file and name the file.",
  });
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (most === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, most - 1)) return true;
  return false;
}
