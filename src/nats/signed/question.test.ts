import { expect, it } from "vitest";
import { type Heard, whyRefused } from "./question.ts";

const NOW = 1_800_000_000_000;
const GOOD: Heard = {
  ...{ seal: "signed", keyless: false, harmless: false, fromStream: false, strangeReply: false, again: false },
  ...{ id: "01a1-ef", atMs: NOW, expiresMs: NOW + 120_000, nowMs: NOW + 1000 },
};
const KEYLESS = { keyless: true, seal: "open" } as const;

it.each<[string, Partial<Heard>, string | undefined]>([
  ["a person's, just now", {}, undefined],
  ["of a clock that is a minute ahead", { nowMs: NOW - 60_000 }, undefined],
  ["of a clock that is more than that ahead", { nowMs: NOW - 60_001 }, "REFUSED_TIME"],
  ["in its last moment", { nowMs: NOW + 120_000 }, undefined],
  ["expired", { nowMs: NOW + 120_001 }, "REFUSED_TIME"],
  ["that would hold for longer", { expiresMs: NOW + 120_001 }, "REFUSED_TIME"],
  ["that says no time", { atMs: Number.NaN, expiresMs: Number.NaN }, "REFUSED_TIME"],
  ["heard before", { again: true }, "REFUSED_SIGNATURE"],
  ["without an id", { id: undefined }, "REFUSED_SIGNATURE"],
  ["with an id that could be a path", { id: "../x" }, "REFUSED_SIGNATURE"],
  ["that nobody signed", { seal: "unsigned" }, "REFUSED_SIGNATURE"],
  ["that somebody else signed", { seal: "wrong" }, "REFUSED_SIGNATURE"],
  ["of somebody, at a host that knows no person", { seal: "open" }, "REFUSED_SIGNATURE"],
  ["where nobody has a key", KEYLESS, undefined],
  ["where nobody has a key, out of a stream", { ...KEYLESS, fromStream: true }, "REFUSED_SIGNATURE"],
  ["signed, out of a stream", { fromStream: true }, "REFUSED_SIGNATURE"],
  ["with an answer that would go into a stream", { strangeReply: true }, "REFUSED_SIGNATURE"],
  ["whether we are there, by anybody", { harmless: true, seal: "unsigned" }, undefined],
  ["whether we are there, out of a stream", { harmless: true, fromStream: true }, "REFUSED_SIGNATURE"],
])("a question %s", (_, more, code) => {
  expect(whyRefused({ ...GOOD, ...more })?.code).toBe(code);
});
