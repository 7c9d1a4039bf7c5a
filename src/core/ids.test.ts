import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AGENT_ID, isTaskId, newAgentId, newNonce, newTaskId, parseAgentId, parseTaskId, slug, uuidv7 } from "./ids.ts";

const AT = Date.parse("2026-11-15T19:04:05.678Z");
const ones = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0x1a);

describe("ids", () => {
  it("are made of prefix or date, UTC time and randomness", () => {
    expect(newAgentId("Code Reviewer", AT, ones)).toBe("code-reviewer-190405-1a1a1a");
    expect(newTaskId(AT, ones)).toBe("TASK-20261115-190405-1a1a1a1a");
    expect(newNonce()).toMatch(/^[0-9a-f]{32}$/);
  });

  it("R-000.8: two agents of one kind started in the same second have different ids", () => {
    expect(newAgentId("claude", AT)).not.toBe(newAgentId("claude", AT));
  });

  it("R-004.13, R-004.19: no text becomes an id that could leave the workspace", () => {
    const evil = ["../../etc/passwd", "..", "a/b", "a\\b", "a\0b", "a\nb", "", ".", "日本", "---", " "];
    for (const text of evil) expect(() => slug(text), JSON.stringify(text)).toThrow(/cannot be used as a name/);
    for (const text of ["..", "a/b", "A/B", "-a", "", "a".repeat(65), "a b", "a.1", "é", 7, null]) {
      expect(() => parseAgentId(text), String(text)).toThrow(/is not an agent id/);
    }
    for (const text of ["TASK-1", "TASK-20261115-190405-1A1A1A1A", "../TASK-20261115-190405-1a1a1a1a"]) {
      expect(() => parseTaskId(text), text).toThrow(/is not a task id/);
    }
  });

  it("an agent is found in any case of letters, and a task is not taken for one", () => {
    expect(parseAgentId("Ltok-190405-1A1A1A")).toBe("ltok-190405-1a1a1a");
    expect(() => parseAgentId("TASK-20261115-190405-1a1a1a1a")).toThrow(/is not an agent id/);
  });

  it("whatever a slug accepts gives a valid agent id", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        let id: string;
        try {
          id = newAgentId(text, AT);
        } catch {
          return true;
        }
        return AGENT_ID.test(id) && parseAgentId(id) === id;
      }),
    );
  });

  it("a slug keeps what it can", () => {
    expect(slug("Prüfer_2")).toBe("prufer_2");
    expect(slug("C++ / Rust".replace("/", "&"))).toBe("c-rust");
    expect(slug("x".repeat(200))).toHaveLength(50);
    expect(newAgentId("x".repeat(200), AT)).toHaveLength(64);
  });

  it("task ids are recognised", () => {
    expect(isTaskId(newTaskId())).toBe(true);
    expect(isTaskId("TASK")).toBe(false);
  });
});

it("a uuid of version 7 begins with the time and sorts by it", () => {
  expect(uuidv7(0x0123456789ab)).toMatch(/^01234567-89ab-7/);
  expect(uuidv7(Date.now())).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(uuidv7(1000) < uuidv7(1001)).toBe(true);
  const ids = Array.from({ length: 10_000 }, () => uuidv7(1002));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
  expect(uuidv7(1000).slice(15)).not.toBe(uuidv7(1001).slice(15));
});
