/**
 * The input of an operation, written in zod's words and kept as words. Flags and help are read from them; the schema is made of them where
 * a value has to be checked (schema.ts). To load zod and to make schemas took a command longer than all the rest of its start.
 */
import type { z as zod } from "zod";

const FIRST = ["string", "boolean", "number", "array", "enum", "union", "strictObject"] as const;
const NEXT = ["trim", "min", "max", "int", "describe", "meta", "default", "optional", "transform"] as const;

/** `z.string().min(1)` is [["string", []], ["min", [1]]]. */
export type Words = readonly (readonly [word: string, args: readonly unknown[]])[];

export class Described {
  readonly words: Words;

  constructor(words: Words) {
    this.words = words;
  }
}

for (const word of NEXT) {
  const value = function (this: Described, ...args: unknown[]): Described {
    return new Described([...this.words, [word, args]]);
  };
  Object.defineProperty(Described.prototype, word, { value });
}

/** For authors it has zod's types, so that `run` gets what the schema gives. */
export const z = Object.fromEntries(
  FIRST.map((word) => [word, (...args: unknown[]) => new Described([[word, args]])]),
) as unknown as Pick<typeof zod, (typeof FIRST)[number]>;

export type { output as Output } from "zod";
