/** One configuration value as a person writes it: "500M", "5s", 1000. */
import { parseDuration } from "../duration.ts";
import { MidwatchError } from "../errors.ts";
import { parseSize } from "../size.ts";
import { CONFIG_FIELDS, type ConfigField, type ConfigKey } from "./config-fields.ts";

/** Without a schema: every command reads all of them, and making 50 schemas took longer than many a command does. */
export function configValue(key: ConfigKey, value: unknown): string | number {
  const { kind, off }: ConfigField = CONFIG_FIELDS[key];
  if (off && value === "off") return 0;
  if (typeof kind !== "string") {
    const found = kind.find((one) => one === value);
    if (found !== undefined) return found;
    throw bad(`Invalid option: expected one of ${kind.map((one) => JSON.stringify(one)).join("|")}`);
  }
  if (typeof value !== "string" && !(typeof value === "number" && Number.isFinite(value))) throw bad("Invalid input");
  if (kind === "text") return String(value);
  if (kind === "size") return parseSize(value);
  if (kind === "duration") return parseDuration(value);
  const shape = kind === "count" ? /^\d+$/ : /^\d+(\.\d+)?$/;
  const number = typeof value === "number" || shape.test(value.trim()) ? Number(value) : Number.NaN;
  if (number >= 0 && (kind === "count" ? Number.isSafeInteger(number) : Number.isFinite(number))) return number;
  const wanted = kind === "count" ? "a whole number from 0 up" : "an amount such as 2.50";
  throw bad(`${JSON.stringify(value)} is not ${wanted}.`);
}

function bad(message: string): MidwatchError {
  return new MidwatchError("BAD_NUMBER", message);
}
