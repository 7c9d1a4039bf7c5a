/**
 * A tool's input as text that stays the same when the same thing is asked in another order of keys, with numbers in quotes or with
 * empty fields: models write one call in many ways.
 */
import { parseJson } from "../core/json.ts";

const MOST_DEPTH = 8;
const MOST_PARTS = 200;

export function inputText(input: unknown): string {
  if (typeof input !== "string") return plain(input, 0);
  if (!/^\s*[{[]/.test(input)) return input;
  const parsed = parseJson(input);
  return parsed === undefined ? input : plain(parsed, 0);
}

function plain(value: unknown, depth: number): string {
  if (value === null || value === undefined || depth > MOST_DEPTH) return "";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) {
    return value
      .slice(0, MOST_PARTS)
      .map((inner) => plain(inner, depth + 1))
      .filter((text) => text !== "")
      .join("\n");
  }
  return Object.entries(value)
    .slice(0, MOST_PARTS)
    .map(([key, inner]) => [key, plain(inner, depth + 1)] as const)
    .filter(([, text]) => text !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, text]) => `${key}: ${text}`)
    .join("\n");
}
