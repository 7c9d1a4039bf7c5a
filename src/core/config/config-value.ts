/** One configuration value as a person writes it: "500M", "5s", 1000. */
import { z } from "zod";
import { parseDuration } from "../duration.ts";
import { MidwatchError } from "../errors.ts";
import { parseSize } from "../size.ts";
import { CONFIG_FIELDS, type ConfigField, type ConfigKey } from "./config-fields.ts";

/** Operations use it too, for flags that override the configuration. */
export function configValue(key: ConfigKey): z.ZodType<string | number, string | number> {
  const { kind }: ConfigField = CONFIG_FIELDS[key];
  if (typeof kind !== "string") return z.enum(kind as [string, ...string[]]);
  if (kind === "count") {
    return z.union([z.string(), z.number()]).transform((value, context) => {
      const count = typeof value === "number" || /^\d+$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (Number.isSafeInteger(count) && count >= 0) return count;
      context.addIssue({ code: "custom", message: `${JSON.stringify(value)} is not a whole number from 0 up.` });
      return z.NEVER;
    });
  }
  if (kind === "text") return z.union([z.string(), z.number()]).transform(String);
  if (kind === "dollars") {
    return z.union([z.string(), z.number()]).transform((value, context) => {
      const amount = typeof value === "number" || /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (Number.isFinite(amount) && amount >= 0) return amount;
      context.addIssue({ code: "custom", message: `${JSON.stringify(value)} is not an amount such as 2.50.` });
      return z.NEVER;
    });
  }
  const parse = kind === "size" ? parseSize : parseDuration;
  return z.union([z.string(), z.number()]).transform(plain(parse));
}

/** A parser that throws our error, as a zod transform that reports it. */
export function plain<In, Out>(parse: (value: In) => Out): (value: In, context: z.RefinementCtx<In>) => Out {
  return (value, context) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      context.addIssue({ code: "custom", message: [error.message, error.hint].filter(Boolean).join(" ") });
      return z.NEVER;
    }
  };
}
