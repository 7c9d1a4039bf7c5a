/** Input fields that several operations share. Each reads what a person writes and gives what the code uses. */
import type { RefinementCtx, ZodArray, ZodNumber, ZodOptional, ZodString, ZodType } from "zod";
import { CONFIG_FIELDS, type ConfigField, type ConfigKey } from "../core/config/config-fields.ts";
import { configValue } from "../core/config/config-value.ts";
import { parseDuration } from "../core/duration.ts";
import { MidwatchError } from "../core/errors.ts";
import type { Progress } from "../core/progress.ts";
import { formatSize, parseSize } from "../core/size.ts";
import { parseTime } from "../core/time.ts";
import { z } from "./input.ts";
import type { Context } from "./operation.ts";

type Field<Output, Input = string | number> = ZodType<Output, Input>;

/** "5s" gives 5000. */
export function duration(about: string): Field<number> {
  return z.union([z.string(), z.number()]).transform(plain(parseDuration)).describe(about).meta({ value: "DURATION" });
}

/** "500M" gives bytes. */
export function size(about: string): Field<number> {
  return z.union([z.string(), z.number()]).transform(plain(parseSize)).describe(about).meta({ value: "SIZE" });
}

/** "10m" (ago) or an RFC 3339 time gives epoch ms. */
export function time(about: string): Field<number, string> {
  const parse = (text: string): number => parseTime(text);
  return z.string().transform(plain(parse)).describe(about).meta({ value: "TIME" });
}

/** A flag that overrides the configuration: the value goes to `loadConfig({ flags })` as it is. */
export function configFlag(key: ConfigKey): ZodOptional<Field<string | number>> {
  const { about, default: standard, kind }: ConfigField = CONFIG_FIELDS[key];
  const value = typeof kind === "string" ? kind.toUpperCase().replace("COUNT", "N") : kind.join("|");
  const field: Field<string | number> =
    typeof kind === "string"
      ? z.union([z.string(), z.number()]).transform(plain((given) => configValue(key, given)))
      : z.enum(kind as [string, ...string[]]);
  return field.describe(`${about} (${standard})`).meta({ value }).optional();
}

/** An agent id or a unique prefix; inside a run it defaults to the run's own. */
export function agentRef(about = "Agent id or a unique prefix of one"): ZodString {
  return z.string().min(1).describe(about).meta({ value: "ID" });
}

/** Of an earlier run of an agent. */
export const runNumber: ZodOptional<ZodNumber> = z
  .number()
  .int()
  .min(1)
  .max(1e9)
  .describe("An earlier run")
  .meta({ value: "N" })
  .optional();

/** A number of lines, bytes and the like. */
export function count(about: string): ZodNumber {
  return z.number().int().min(0).max(1e15).describe(about).meta({ value: "N" });
}

export const agentRefs: ZodArray<ZodString> = z
  .array(z.string())
  .min(1, "name at least one agent")
  .describe("Agent ids or unique prefixes")
  .meta({ value: "ID" });

/** `--data JSON`, read. */
export function parseData(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MidwatchError("USAGE", "--data is not JSON.", { hint: 'Write it as \'{"file":"x.ts"}\'.', cause: error });
  }
}

/** A parser that throws our error, as a zod transform that reports it. */
export function plain<In, Out>(parse: (value: In) => Out): (value: In, context: RefinementCtx<In>) => Out {
  return (value, context) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      context.addIssue({ code: "custom", message: [error.message, error.hint].filter(Boolean).join(" ") });
      return undefined as never; // The issue counts.
    }
  };
}

/** Tells how far long work has come. */
export function bytesDone(context: Context): Progress {
  return (bytes, done) => context.progress(`${formatSize(bytes)} ${done}`);
}
