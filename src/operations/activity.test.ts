import { expect, it } from "vitest";
import { activityText } from "./activity.ts";

it("long input is cut, colours and other control sequences of the agent go", () => {
  const tool = { kind: "tool", id: null, name: "Write", input: { text: "x\n".repeat(5000) }, paths: [] } as const;
  expect(activityText(tool)).toHaveLength("-> Write ".length + 200);
  expect(activityText({ kind: "said", text: "\u001b[31mred\u001b[0m\nand more" })).toBe("red\nand more");
  expect(activityText({ kind: "note", name: "user" })).toBeUndefined();
});
