import { describe, expect, it } from "vitest";
import { epochTime, resetTime } from "./resets.ts";
import { troubleOf } from "./trouble.ts";

describe("trouble", () => {
  it.each([
    ["API Error: 401 nope", null, "auth"],
    ["Invalid API key · Please run /login", null, "auth"],
    ["unexpected status 403 Forbidden", null, "auth"],
    ["last status: 429 Too Many Requests", null, "rate_limit"],
    ["rate_limit", null, "rate_limit"],
    ["You exceeded your current quota", 429, "quota"],
    ["5-hour limit reached ∙ resets 3pm", null, "quota"],
    ["Your credit balance is too low", 400, "quota"],
    ["Your credit balance is too low", null, "quota"],
    ["bad request", 400, "api_error"],
    ["payment required", 402, "quota"],
    ["overloaded_error", 529, "overloaded"],
    ["The model is overloaded", 503, "overloaded"],
    ["API Error: 500 oops", null, "api_error"],
    ["Unable to connect to API (ECONNRESET)", null, "network"],
    ["stream disconnected before completion", null, "network"],
    ["Model metadata for `x` not found", null, null],
    ["", null, null],
  ] as const)("%s (%s) is %s", (text, status, kind) => {
    expect(troubleOf(text, status)).toBe(kind);
  });
});

describe("reset time", () => {
  const now = Date.parse("2026-11-15T19:00:00Z");
  it.each([
    ["Claude AI usage limit reached|1794787200", "2026-11-16T00:00:00.000Z"],
    ["limit resets at: 2026-11-16T10:13:01+0000", "2026-11-16T10:13:01.000Z"],
    ["try again in 3 days 6 hours 8 minutes.", "2026-11-19T01:08:00.000Z"],
    ["Please retry in 32.5s.", "2026-11-15T19:00:32.500Z"],
    ["Your quota will reset after 13h24m6s", "2026-11-16T08:24:06.000Z"],
    ["resets 3pm (America/New_York)", "2026-11-15T20:00:00.000Z"],
    ["resets 10am (Asia/Seoul)", "2026-11-16T01:00:00.000Z"],
    ["Your limit will reset at 12am (UTC)", "2026-11-16T00:00:00.000Z"],
    ["resets Nov 20, 3pm (UTC)", "2026-11-20T15:00:00.000Z"],
    ["resets Jan 2 at 12:30pm (UTC)", "2027-01-02T12:30:00.000Z"],
    ["or try again at Aug 8th, 2027 12:30 PM UTC", "2027-08-08T12:30:00.000Z"],
    ["resets 3pm (Nowhere/Land)", null],
    ["resets 5 times", null],
    ["try again later", null],
    ["try again at 99:99", null],
  ])("%s", (text, at) => {
    expect(resetTime(text, now)).toBe(at);
  });

  it("is the machine's own time without a zone", () => {
    const at = new Date(resetTime("or try again at 3:28 PM.", now) ?? "");
    expect([at.getHours(), at.getMinutes(), at.getTime() > now]).toEqual([15, 28, true]);
  });

  it("needs the time of the line for anything relative, and only for that", () => {
    expect(resetTime("try again in 20 minutes", null)).toBeNull();
    expect(resetTime("resets 3pm (UTC)", null)).toBeNull();
    expect(resetTime("limit reached|1794787200", null)).not.toBeNull();
  });

  it("takes seconds and milliseconds, and nothing absurd", () => {
    expect([epochTime(1794787200), epochTime(1794787200000)]).toEqual(Array(2).fill("2026-11-16T00:00:00.000Z"));
    expect([epochTime(null), epochTime(0), epochTime(1e300)]).toEqual([null, null, null]);
  });
});
