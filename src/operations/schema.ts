/** The schema that an operation's input is checked by. */
import { array, boolean, enum as choice, number, strictObject, string, union, type ZodObject } from "zod";
import { Described, type z } from "./input.ts";
import type { Operation } from "./operation.ts";

/** By name, not as a whole: the bundle takes no more of zod than this. */
const zod: typeof z = { array, boolean, enum: choice, number, strictObject, string, union };

const made = new WeakMap<Described, ZodObject>();

export function schemaOf({ input }: Pick<Operation, "input">): ZodObject {
  const schema = made.get(input) ?? (make(input) as ZodObject);
  made.set(input, schema);
  return schema;
}

/** Says the words to zod, those within them first. */
export function make(described: unknown): unknown {
  if (Array.isArray(described)) return described.map(make);
  if (described instanceof Described)
    return described.words.reduce<unknown>(
      (on, [word, args]) => (on as Record<string, (...args: unknown[]) => unknown>)[word]?.(...args.map(make)),
      zod,
    );
  if (typeof described !== "object" || described === null) return described;
  return Object.fromEntries(Object.entries(described).map(([key, value]) => [key, make(value)]));
}
