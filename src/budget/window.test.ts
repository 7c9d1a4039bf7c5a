import { expect, it } from "vitest";
import { localTime, opensAt, windowOf } from "./window.ts";

const HOUR_MS = 3_600_000;
const at = (text: string): number => Date.parse(text);
const hours = ({ fromMs, toMs }: { fromMs: number; toMs: number }): number => (toMs - fromMs) / HOUR_MS;

/** When the clock on the wall is set, in each direction; what date(1) says of them too. */
it.each([
  ["UTC", "2026-11-19T12:00:00Z", "2026-11-19T00:00:00Z", 24],
  ["Europe/Berlin", "2026-11-19T12:00:00Z", "2026-11-18T23:00:00Z", 24],
  ["Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", 23],
  ["Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", 25],
  ["America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", 23],
  ["America/New_York", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", 25],
  ["America/Los_Angeles", "2026-11-19T07:59:59.999Z", "2026-11-18T08:00:00Z", 24],
  ["America/Los_Angeles", "2026-11-19T08:00:00Z", "2026-11-19T08:00:00Z", 24],
  ["Asia/Kolkata", "2026-11-19T18:30:00Z", "2026-11-19T18:30:00Z", 24],
  ["Asia/Kathmandu", "2026-11-19T18:14:59Z", "2026-11-18T18:15:00Z", 24],
  ["Australia/Lord_Howe", "2026-04-05T00:00:00Z", "2026-04-04T13:00:00Z", 24.5],
  ["Australia/Lord_Howe", "2026-10-04T00:00:00Z", "2026-10-03T13:30:00Z", 23.5],
  ["Pacific/Kiritimati", "2026-11-19T12:00:00Z", "2026-11-19T10:00:00Z", 24],
  // Midnight is skipped: the day begins at 01:00.
  ["Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", 23],
  ["Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", 23],
  // Midnight comes twice: the day begins at the first.
  ["America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", 25],
  // From 24:00 back to 23:00: the day before has one hour more.
  ["America/Asuncion", "2023-03-26T02:30:00Z", "2023-03-25T03:00:00Z", 25],
  // From 00:01 back to 23:01 of the day before: what has begun goes on.
  ["America/St_Johns", "2010-11-07T02:45:00Z", "2010-11-07T02:30:00Z", 25],
])("the day of %s at %s", (zone, now, from, length) => {
  const window = windowOf("day", at(now), zone);
  expect([new Date(window.fromMs).toISOString(), hours(window)]).toEqual([new Date(at(from)).toISOString(), length]);
});

it("a day that a zone left out is nobody's", () => {
  const before = windowOf("day", at("2011-12-30T09:00:00Z"), "Pacific/Apia");
  const after = windowOf("day", at("2011-12-30T10:00:00Z"), "Pacific/Apia");
  expect([hours(before), before.toMs === after.fromMs, hours(after)]).toEqual([24, true, 24]);
  expect(localTime(after.fromMs, "Pacific/Apia")).toBe("31 Dec 00:00");
});

it.each([
  // Monday to Monday, also when the year ends between.
  ["UTC", "2026-11-19T12:00:00Z", "2026-11-16T00:00:00Z", 168],
  ["UTC", "2026-11-22T23:59:59.999Z", "2026-11-16T00:00:00Z", 168],
  ["UTC", "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", 168],
  ["UTC", "2026-12-31T12:00:00Z", "2026-12-28T00:00:00Z", 168],
  ["UTC", "2027-01-03T12:00:00Z", "2026-12-28T00:00:00Z", 168],
  ["UTC", "2027-01-04T00:00:00Z", "2027-01-04T00:00:00Z", 168],
  ["Europe/Berlin", "2024-12-31T23:30:00Z", "2024-12-29T23:00:00Z", 168],
  ["Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-22T23:00:00Z", 167],
  ["Europe/Berlin", "2026-10-19T12:00:00Z", "2026-10-18T22:00:00Z", 169],
  ["America/New_York", "2026-11-02T04:59:59Z", "2026-10-26T04:00:00Z", 169],
  ["Asia/Tokyo", "2026-11-22T15:00:00Z", "2026-11-22T15:00:00Z", 168],
])("the week of %s at %s", (zone, now, from, length) => {
  const window = windowOf("week", at(now), zone);
  expect([new Date(window.fromMs).toISOString(), hours(window)]).toEqual([new Date(at(from)).toISOString(), length]);
});

it("each moment of two years is in one window, and each window ends where the next begins", () => {
  const zones = ["Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "America/St_Johns"];
  for (const zone of zones)
    for (const period of ["day", "week"] as const) {
      let window = windowOf(period, at("2010-01-01T00:00:00Z"), zone);
      for (let n = 0; window.toMs < at("2012-01-01T00:00:00Z"); n++) {
        const next = windowOf(period, window.toMs, zone);
        expect([zone, n, next.fromMs]).toEqual([zone, n, window.toMs]);
        expect(windowOf(period, next.toMs - 1, zone)).toEqual(next);
        expect(windowOf(period, (next.fromMs + next.toMs) / 2, zone)).toEqual(next);
        window = next;
      }
    }
});

it("when a window opens is said as one says it then", () => {
  const now = at("2026-11-19T20:00:00Z");
  const { toMs } = windowOf("day", now, "Europe/Berlin");
  expect(opensAt(toMs, now, "Europe/Berlin")).toBe("00:00");
  const week = windowOf("week", now, "Europe/Berlin");
  expect(opensAt(week.toMs, now, "Europe/Berlin")).toBe("Mon 00:00");
  expect([localTime(week.fromMs, "Europe/Berlin"), localTime(week.toMs, "Europe/Berlin")]).toEqual([
    "16 Nov 00:00",
    "23 Nov 00:00",
  ]);
});
