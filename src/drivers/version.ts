/** What a CLI's `--version` says, for `doctor`: each prints its number in its own words. */
import type { Driver } from "./driver.ts";

interface VersionReport {
  /** Null when the text holds none. */
  version: string | null;
  /** Whether midwatch was tried with it. An unknown version is a warning, not an error. */
  known: boolean;
}

const VERSION = /(?<![\d.])v?(\d+\.\d+(?:\.\d+)?(?:-[0-9A-Za-z.]+)?)/;

export function readVersion(driver: Pick<Driver, "knownVersions">, output: string): VersionReport {
  const version = VERSION.exec(output)?.[1] ?? null;
  const known =
    version !== null && driver.knownVersions.some((prefix) => version === prefix || version.startsWith(`${prefix}.`));
  return { version, known };
}
