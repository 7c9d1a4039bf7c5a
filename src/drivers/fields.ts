/** Looking into parsed JSON of which nothing is known: a wrong type reads as absent, and nothing throws. */

import { type Fields, isFields } from "../core/json.ts";

export { type Fields, isFields };

const NONE: Fields = {};

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NONE;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Empty text counts as none: CLIs write "" where they have nothing. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A count that may be missing. Below zero is no count. */
export function countOf(value: unknown): number {
  return Math.max(0, numberOf(value) ?? 0);
}

/** The text of a tool's result or a message: a string, or the text blocks of a list. */
export function contentText(value: unknown): string {
  if (typeof value === "string") return value;
  return listOf(value)
    .map((block) => textOf(fieldsOf(block)["text"]))
    .filter((text) => text !== null)
    .join("\n");
}

/** A value by a dotted path: `usage.input_tokens`, `content.0.text`. */
export function at(value: unknown, path: string): unknown {
  let here: unknown = value;
  for (const key of path.split(".")) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Fields)[key];
  }
  return here;
}
