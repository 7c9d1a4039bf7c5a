/** The drivers that are built in, by name. */
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { nearest } from "../core/nearest.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { command } from "./command.ts";
import type { Driver } from "./driver.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";

export type * from "./driver.ts";
export { moduleDriver } from "./module.ts";
export { readVersion } from "./version.ts";

export const DRIVERS: readonly Driver[] = [claude, codex, gemini, opencode, command];

export function driverNamed(name: string): Driver {
  const found = DRIVERS.find((driver) => driver.name === name);
  if (found) return found;
  const names = DRIVERS.map((driver) => driver.name);
  const near = nearest(name, names);
  throw new MidwatchError("USAGE", `There is no driver ${quote(name)}.`, {
    hint:
      near === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${near}? There are ${names.join(", ")}.`,
  });
}
