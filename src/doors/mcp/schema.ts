/** Zod schemas as the SDK takes them: checked by us, so that refusals are ours, and shown without what only the command line needs. */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";

/** Keys that fields carry for `--help`. */
const OF_THE_CLI = ["short", "value", "optionalValue"];

export function shown(schema: z.ZodObject, io: "input" | "output"): StandardSchemaWithJSON {
  const override = ({ jsonSchema }: { jsonSchema: object }): void => {
    for (const key of OF_THE_CLI) delete (jsonSchema as Record<string, unknown>)[key];
  };
  const json = plain(z.toJSONSchema(schema, { io, unrepresentable: "any", override })) as Record<string, unknown>;
  const validate = io === "input" ? (value: unknown) => ({ value }) : schema["~standard"].validate;
  return {
    "~standard": { version: 1, vendor: "midwatch", validate, jsonSchema: { input: () => json, output: () => json } },
  } as StandardSchemaWithJSON;
}

/** Some clients know only a part of JSON Schema: one type at a place, and no schema that says nothing. */
function plain(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(plain);
  if (typeof given !== "object" || given === null) return given;
  const { additionalProperties: more, type, ...rest } = given as Record<string, unknown>;
  const saysNothing = typeof more === "object" && more !== null && Object.keys(more).length === 0;
  return {
    ...(Array.isArray(type)
      ? { anyOf: type.map((one) => ({ type: one })) }
      : type === undefined
        ? {}
        : { type: plain(type) }),
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value)])),
    ...(more === undefined || saysNothing ? {} : { additionalProperties: plain(more) }),
  };
}
