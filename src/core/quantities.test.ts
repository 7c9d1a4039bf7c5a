import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";
import { formatSize, parseSize } from "./size.ts";
import { iso, parseRfc3339, parseTime } from "./time.ts";

const BAD = ["-1", "-5s", "NaN", "Infinity", "", " ", "1e9", "5 apples", "0x10", "1,5", "9".repeat(20), "99999999P"];

describe("sizes", () => {
  it.each([
    ["500M", 500 * 1024 ** 2],
    ["2GiB", 2 * 1024 ** 3],
    ["64k", 65536],
    ["64 KB", 65536],
    ["1.5g", 1.5 * 1024 ** 3],
    ["0", 0],
    [4096, 4096],
  ])("%s is %d bytes", (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each(BAD)("refuses %j and quotes it", (text) => {
    expect(() => parseSize(text)).toThrow(JSON.stringify(text));
  });

  it("refuses numbers that are no size", () => {
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) expect(() => parseSize(bad)).toThrow();
  });

  it("are printed for people", () => {
    expect([0, 1023, 1536, 2 * 1024 ** 3].map(formatSize)).toEqual(["0 B", "1023 B", "1.5 KiB", "2.0 GiB"]);
  });
});

describe("durations", () => {
  it.each([
    ["250ms", 250],
    ["5s", 5000],
    ["0", 0],
    ["10m", 600_000],
    ["1.5h", 5_400_000],
    ["14d", 14 * 86_400_000],
    [1500, 1500],
  ])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(BAD)("refuses %j and quotes it", (text) => {
    expect(() => parseDuration(text)).toThrow(JSON.stringify(text));
  });

  it("are printed for people", () => {
    const shown = [0, 999, 5000, 90_000, 7_500_000, 273_600_000].map(formatDuration);
    expect(shown).toEqual(["0ms", "999ms", "5s", "1m 30s", "2h 5m", "3d 4h"]);
  });
});

describe("times", () => {
  const now = Date.parse("2026-11-15T19:00:00.000Z");

  it("are ISO UTC with milliseconds", () => expect(iso(now)).toBe("2026-11-15T19:00:00.000Z"));

  it.each([
    ["2026-11-15T18:00:00Z", "2026-11-15T18:00:00.000Z"],
    ["2026-11-15t20:00:00.5+01:00", "2026-11-15T19:00:00.500Z"],
    ["2026-11-15 18:00:00Z", "2026-11-15T18:00:00.000Z"],
    ["2026-11-14", "2026-11-14T00:00:00.000Z"],
    ["10m", "2026-11-15T18:50:00.000Z"],
    ["2h", "2026-11-15T17:00:00.000Z"],
  ])("--since %s is %s", (text, wanted) => expect(iso(parseTime(text, now))).toBe(wanted));

  it.each([
    "",
    "yesterday",
    "2026-02-31",
    "2026-11-15T25:00:00Z",
    "2026-11-15T18:00:00",
    "1763233200",
    "-10m",
    "9999999w",
  ])("refuses %j", (text) => expect(() => parseTime(text, now)).toThrow(/is not a time|too long/));

  it("read back what iso wrote", () => {
    const anyTime = fc.integer({ min: 0, max: 253_402_300_799_999 });
    fc.assert(fc.property(anyTime, (ms) => parseRfc3339(iso(ms)) === ms));
  });
});
