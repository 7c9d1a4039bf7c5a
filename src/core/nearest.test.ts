import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

const KNOWN = ["json", "workspace", "grace", "stop", "show"];

it.each([
  ["jsno", "json"],
  ["worksapce", "workspace"],
  ["stpo", "stop"],
  ["Grace", "grace"],
  ["sho", "show"],
  ["completely-else", undefined],
])("%s is near to %s", (word, wanted) => expect(nearest(word, KNOWN)).toBe(wanted));
