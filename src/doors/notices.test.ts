import { expect, it } from "vitest";
import { Notices } from "./notices.ts";

it("keeps some and counts the rest", () => {
  const notices = new Notices();
  expect(notices.all()).toEqual([]);
  for (let i = 1; i <= 1000; i++) notices.tell(`line ${i}`);
  expect(notices.all()).toHaveLength(21);
  expect(notices.all().slice(-2)).toEqual(["line 20", "and 980 more"]);
});
