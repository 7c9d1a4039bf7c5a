import { describe, expect, it } from "vitest";
import { MidwatchError } from "../core/errors.ts";
import { checkInput, makeEvent, placeId, readEvent } from "./event.ts";

const FIVE = {
  interaction: 1,
  actor: "Agent A",
  type: "question",
  content: "What now?",
  timestamp: "2026-11-15T19:00:00Z",
};
const read = (value: unknown, seq = 0) =>
  readEvent(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), seq);
const door = { interaction: 1, actor: "A", type: "note", content: "x" };

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof MidwatchError) return error.code;
  }
  return "was not refused";
}

describe("an event", () => {
  it("R-003.3: has the five fields of the seed, an id and a version, in one line", () => {
    const event = makeEvent({ interaction: 1, actor: "A", type: "question", content: "two\nlines" });
    expect(Object.keys(event)).toEqual(["v", "id", "interaction", "actor", "type", "content", "timestamp"]);
    expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(event.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(JSON.stringify(event)).not.toContain("\n");
    expect(read(event).event).toEqual(event);
  });

  it("R-003.3: a line of the five fields gets an id from its place, always the same", () => {
    expect(read(FIVE, 7).event).toEqual({ ...FIVE, v: 1, id: read(FIVE, 7).event?.id });
    expect(read(FIVE, 8).event?.id).not.toBe(read(FIVE, 7).event?.id);
    expect(placeId("line", 7, JSON.stringify(FIVE))).toBe(read(FIVE, 7).event?.id);
  });

  it("keeps fields that it does not know", () => {
    expect(read({ ...FIVE, id: "mine", lc: 8, nested: { a: 1 } }).event).toMatchObject({ lc: 8, nested: { a: 1 } });
  });

  it.each([
    ["{", "not JSON"],
    ["[1]", "not a JSON object"],
    [{ ...FIVE, v: 2 }, "its version is 2, not 1"],
    [{ ...FIVE, interaction: "1" }, "interaction is not a whole number from 0 up"],
    [{ ...FIVE, interaction: -1 }, "interaction is not a whole number from 0 up"],
    [{ ...FIVE, interaction: 1.5 }, "interaction is not a whole number from 0 up"],
    [{ ...FIVE, actor: " " }, "actor is not a text of 1 to 200 characters"],
    [{ ...FIVE, type: "Two words" }, 'type "Two words" is not a short word'],
    [{ ...FIVE, type: undefined }, "type undefined is not a short word"],
    [{ ...FIVE, content: 5 }, "content is not a text"],
    [{ ...FIVE, timestamp: "yesterday" }, "timestamp is not a UTC time"],
    [{ ...FIVE, id: 5 }, "id is not a short text"],
  ])("R-003.17: %j is none: %s", (line, reason) => {
    expect(read(line)).toEqual({ event: undefined, reason });
  });

  it("R-003.17: bytes that are not UTF-8 are none", () => {
    expect(readEvent(Buffer.from([0x22, 0xff, 0x22]), 0).reason).toBe("not UTF-8");
  });
});

describe("at the doors", () => {
  it("types that only midwatch writes are refused", () => {
    for (const type of ["leader_election", "agent.started", "verdict.on_track", "cleanup.deleted", "stop.failed"])
      expect(refusal(() => checkInput({ ...door, type }))).toBe("REFUSED_TYPE");
    for (const type of ["error", "turn", "progress", "finding"]) {
      expect(refusal(() => checkInput({ ...door, type }, true))).toBe("REFUSED_TYPE");
      expect(refusal(() => checkInput({ ...door, type }))).toBe("was not refused");
    }
    expect(refusal(() => checkInput({ ...door, type: "agents" }))).toBe("was not refused");
  });

  it("10 MB of content are refused, 1 MiB is taken", () => {
    expect(refusal(() => checkInput({ ...door, content: "x".repeat(10_000_000) }))).toBe("TOO_LARGE");
    expect(refusal(() => checkInput({ ...door, data: { text: "x".repeat(1 << 20) } }))).toBe("TOO_LARGE");
    expect(refusal(() => checkInput({ ...door, content: "x".repeat(1 << 20) }))).toBe("was not refused");
  });

  it("unknown shapes of type, actor and interaction are refused", () => {
    for (const wrong of [
      { type: "Type" },
      { type: "" },
      { actor: "" },
      { interaction: -1 },
      { interaction: Number.NaN },
    ])
      expect(refusal(() => checkInput({ ...door, ...wrong }))).toBe("USAGE");
  });

  it("secrets are masked before anything is written", () => {
    const key = `sk-ant-${"a1".repeat(20)}`;
    const checked = checkInput({ ...door, content: `the key is ${key}`, data: { key } });
    expect(JSON.stringify(checked)).not.toContain(key);
  });
});
