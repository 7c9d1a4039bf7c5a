/** JSON from files that others can write: what is nested deeper than we can walk is as good as torn. */

/** Of facts, registers and other small files. */
export const FACT_DEPTH = 64;
/** Of lines of a log or a journal. */
export const LINE_DEPTH = 256;

/** As JSON.parse, which takes any depth; JSON.stringify and whoever walks the value do not. */
export function parseJson(text: string, deepest: number): unknown {
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

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (most === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, most - 1)) return true;
  return false;
}
