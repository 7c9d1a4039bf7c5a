import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dayName, days, stretches } from "./stretches.ts";

const HOUR_MS = 3_600_000;
const zone = process.env["TZ"];

beforeAll(() => {
  process.env["TZ"] = "Europe/Berlin";
});
afterAll(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

const at = (text: string): number => Date.parse(text);
const hours = (edges: readonly number[]): number[] =>
  edges.slice(1).map((edge, n) => (edge - (edges[n] as number)) / HOUR_MS);

describe("days", () => {
  it("are the calendar's: 23 and 25 hours where clocks are changed", () => {
    const spring = days(at("2026-03-28T12:00:00Z"), at("2026-03-30T12:00:00Z"));
    expect(hours(spring)).toEqual([24, 23, 24]);
    expect(spring.slice(0, -1).map(dayName)).toEqual(["2026-03-28", "2026-03-29", "2026-03-30"]);
    expect(hours(days(at("2026-10-24T12:00:00Z"), at("2026-10-26T12:00:00Z")))).toEqual([24, 25, 24]);
  });

  it("hold the first and the last time", () => {
    const [since, until] = [at("2026-11-18T22:59:00Z"), at("2026-11-19T23:30:00Z")];
    const edges = days(since, until);
    expect(edges[0]).toBeLessThanOrEqual(since);
    expect(edges.at(-1)).toBeGreaterThanOrEqual(until);
    expect(edges.slice(0, -1).map(dayName)).toEqual(["2026-11-18", "2026-11-19", "2026-11-20"]);
  });
});

describe("stretches", () => {
  it.each([
    ["40 minutes", 40 / 60, 1 / 60],
    ["3 hours", 3, 1 / 12],
    ["a day", 24, 1],
    ["4 days", 96, 3],
    ["20 days", 480, 24],
  ])("of %s are as fine as there is room for", (_, long, each) => {
    const until = at("2026-11-19T12:34:56Z");
    const edges = stretches(until - long * HOUR_MS, until, 50);
    expect(edges.length).toBeLessThanOrEqual(51);
    expect(new Set(hours(edges).map((one) => one.toFixed(4)))).toEqual(new Set([each.toFixed(4)]));
    expect(edges[0]).toBeLessThanOrEqual(until - long * HOUR_MS);
    expect(edges.at(-1)).toBeGreaterThanOrEqual(until);
  });

  it("of a year are weeks that begin on Monday", () => {
    const edges = stretches(at("2025-12-01T12:00:00Z"), at("2026-11-19T12:00:00Z"), 60);
    expect(new Set(edges.map((edge) => new Date(edge).getDay()))).toEqual(new Set([1]));
  });
});
