import { expect, it } from "vitest";
import { budgets } from "../soak/budgets.ts";

it("whoever watches is killed: a budget is passed by no more than the calls under way, and each that waited starts once", async () => {
  const { failures, figures, seed } = await budgets(2, Math.floor(Date.now() / 86_400_000));
  console.log("budgets", figures);
  expect(failures, `seed ${seed}`).toEqual([]);
});
