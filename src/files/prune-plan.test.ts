import { describe, expect, it } from "vitest";
import type { AgentId } from "../core/ids.ts";
import { choicesOf, whyGone } from "./prune-plan.ts";
import type { Survey, SurveyedAgent } from "./survey.ts";

const DAY = 24 * 3600 * 1000;

it.each([
  ["R-002.15: old enough", DAY, 0, DAY, 100, "ended more than 1d ago"],
  ["R-002.15: all that have ended", 0, 0, 0, 100, "ended"],
  ["R-002.12: young, and there is room", DAY - 1, 100, DAY, 100, undefined],
  ["R-002.12: young, and there is too much", DAY - 1, 101, DAY, 100, "the workspace is above 100 B"],
  ["R-002.15: old and too much", DAY, 101, DAY, 100, "ended more than 1d ago"],
])("why it goes: %s", (_, ageMs, bytes, olderMs, overBytes, why) =>
  expect(whyGone(ageMs, bytes, olderMs, overBytes)).toBe(why),
);

describe("what goes together", () => {
  const agent = (name: string, task = "T"): SurveyedAgent =>
    ({ task, agent: name, endedAt: 1, bytes: 10, paths: [`${task}/${name}`] }) as unknown as SurveyedAgent;
  const task = (...names: string[]): Survey["tasks"][number] =>
    ({ fact: { task: "T", created_at: new Date(1000).toISOString() }, names, bytes: 99 }) as never;
  const going = (...names: string[]) => new Map(names.map((name) => [name as AgentId, `${name} is old`]));
  const all = [agent("a"), agent("b"), agent("c", "U")];
  it.each([
    ["R-002.12: one of two: the task stays", task("a", "b"), going("a"), 0, [["a", "a is old", 10, ["T/a"]]]],
    ["R-002.12: both: the task goes as a whole", task("a", "b"), going("a", "b"), 0, [[null, "b is old", 99, ["T"]]]],
    [
      "R-002.12: somebody else has a folder there: it stays",
      task("a", "b", "x"),
      going("a", "b"),
      0,
      [
        ["a", "a is old", 10, ["T/a"]],
        ["b", "b is old", 10, ["T/b"]],
      ],
    ],
    ["R-002.12: no agent of it goes", task("a", "b"), going("c"), 0, []],
    ["R-002.12: an old task without agents", task(), going(), 1000, [[null, "a task without agents", 99, ["T"]]]],
    ["R-002.12: a young task without agents", task(), going(), 999, []],
  ])("%s", (_, of, names, before, expected) => {
    const choices = choicesOf(of, all, names, before);
    expect(choices.map(({ agent: name, why, bytes, paths }) => [name, why, bytes, paths])).toEqual(expected);
  });
});
