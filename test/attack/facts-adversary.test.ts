import { expect, it } from "vitest";
import { adversary } from "../soak/adversary.ts";

it("an agent forges, floods, forks, hides, leaves its cgroup and kills its keeper: it is gone, or no proof is given and the rest is named", async () => {
  const { failures, figures } = await adversary(10);
  console.log(figures);
  expect(failures).toEqual([]);
});
