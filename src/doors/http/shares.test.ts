import { expect, it } from "vitest";
import { parseAgentId } from "../../core/ids.ts";
import { Shares } from "./shares.ts";

const [a, b, c] = ["a-1", "b-1", "c-1"].map(parseAgentId);

it.each([
  ["one agent has no more than its share", [a, a, a], [true, true, false]],
  ["all agents together have no more than theirs", [a, a, b, c], [true, true, true, false]],
  ["what agents took is not a person's", [a, a, b, c, undefined, undefined], [true, true, true, false, true, true]],
  ["what people took is not an agent's", [undefined, undefined, undefined, a], [true, true, false, true]],
])("%s", (_, callers, given) => {
  const shares = new Shares({ each: 2, agents: 3, people: 2 });
  expect(callers.map((caller) => shares.take(caller) !== undefined)).toEqual(given);
});

it("a place that is given back, once or twice, is there once more", () => {
  const shares = new Shares({ each: 1, agents: 1, people: 1 });
  for (const caller of [a, undefined]) {
    const leave = shares.take(caller);
    expect(shares.take(caller)).toBeUndefined();
    leave?.();
    leave?.();
    expect([shares.take(caller) !== undefined, shares.take(caller)]).toEqual([true, undefined]);
  }
});
