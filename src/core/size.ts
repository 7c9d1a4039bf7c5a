/** Sizes in bytes: `500M`, `2GiB`, `64k`, `1.5G` or a plain number. Every unit is a power of 1,024, as in GNU tools. */
import { MidwatchError } from "./errors.ts";
import { quote } from "./ids.ts";

const UNITS = ["", "k", "m", "g", "t", "p"];

export function parseSize(value: string | number): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgtp]?)(?:i?b)?$/.exec(String(value).trim().toLowerCase());
  if (match === null) {
    throw new MidwatchError("BAD_NUMBER", `${quote(value)} is not a size.`, {
      hint: "Write a size as 500M, 2GiB, 64k or a number of bytes.",
    });
  }
  const bytes = Math.floor(Number(match[1]) * 1024 ** UNITS.indexOf(match[2] ?? ""));
  if (!Number.isSafeInteger(bytes)) {
    throw new MidwatchError("BAD_NUMBER", `The size ${quote(value)} is too large.`, {
      hint: "Sizes go up to 2^53 bytes.",
    });
  }
  return bytes;
}

/** For people: 512 B, 1.5 KiB, 2.0 GiB. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${(UNITS[unit] ?? "").toUpperCase()}iB`;
}
