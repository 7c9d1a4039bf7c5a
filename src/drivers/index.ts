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

interface VersionReport {
  /** Null when the text holds none. */
  version: string | null;
  /** Whether midwatch was tried with it. An unknown version is a warning, not an error. */
  known: boolean;
}

const VERSION = /(?<![\d.])v?(\d+\.\d+(?:\.\d+)?(?:-[0-9A-Za-z.]+)?)/;

/** What a CLI's `--version` says, for `doctor`: each prints its number in its own words. */
export function readVersion(driver: Pick<Driver, "knownVersions">, output: string): VersionReport {
  const version = VERSION.exec(output)?.[1] ?? null;
  const known =
    version !== null && driver.knownVersions.some((prefix) => version === prefix || version.startsWith(`${prefix}.`));
  return { version, known };
}
