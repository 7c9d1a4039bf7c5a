/** Zod schemas as the SDK takes them: checked by us, so that refusals are ours, and shown without what only the command line needs. */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";

/** Keys that fields carry for `--help`. */
const OF_THE_CLI = ["short", "value", "optionalValue"];

export function shown(schema: z.ZodObject, io: "input" | "output"): StandardSchemaWithJSON {
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      for (const key of OF_THE_CLI) delete (jsonSchema as Record<string, unknown>)[key];
    },
  }) as Record<string, unknown>;
  const check = io === "input" ? (value: unknown) => ({ value }) : schema["~standard"].validate;
  return {
    "~standard": {
      version: 1,
      vendor: "midwatch",
      validate: check,
      jsonSchema: { input: () => json, output: () => json },
    },
  } as StandardSchemaWithJSON;
}
