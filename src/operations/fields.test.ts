import { describe, expect, it } from "vitest";
import type { ZodType } from "zod";
import * as fields from "./fields.ts";
import { make } from "./schema.ts";

/** With its schema made. */
const real = <T extends ZodType>(field: T): T => make(field) as T;
const agentRef = () => real(fields.agentRef());
const configFlag = (key: Parameters<typeof fields.configFlag>[0]) => real(fields.configFlag(key));
const duration = (about: string) => real(fields.duration(about));
const time = (about: string) => real(fields.time(about));

describe("fields", () => {
  it("read what a person writes", () => {
    expect(duration("x").parse("250ms")).toBe(250);
    expect(duration("x").parse(7)).toBe(7);
    expect(time("x").parse("2026-11-15T19:00:00Z")).toBe(Date.parse("2026-11-15T19:00:00Z"));
    expect(Math.abs(time("x").parse("10m") - (Date.now() - 600_000))).toBeLessThan(5000);
    expect(configFlag("disk_warn").parse("1k")).toBe(1024);
    expect(configFlag("disk_warn").parse(undefined)).toBeUndefined();
    expect(agentRef().parse("dev")).toBe("dev");
  });

  it("say what is wrong and how to write it", () => {
    expect(duration("x").safeParse("soon").error?.issues[0]?.message).toMatch(/"soon" is not a duration\. Write/);
    expect(time("x").safeParse("1763233200").error?.issues[0]?.message).toMatch(/is not a time\. Write/);
    expect(configFlag("sync").safeParse("often").success).toBe(false);
    expect(configFlag("max_agents").safeParse("-1").success).toBe(false);
    expect(agentRef().safeParse("").success).toBe(false);
  });

  it("carry their help", () => {
    expect(configFlag("grace").meta()).toBeUndefined();
    expect(configFlag("grace").unwrap().meta()).toMatchObject({
      value: "DURATION",
      description: expect.stringContaining("(5s)"),
    });
    expect(configFlag("sync").unwrap().meta()).toMatchObject({ value: "interval|none|always" });
    expect(agentRef().meta()).toMatchObject({ value: "ID" });
  });
});
