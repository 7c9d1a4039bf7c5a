import { expect, it } from "vitest";
import { crashMatrix } from "../soak/crash-matrix.ts";

it("R-000.6, R-000.43: kill -9 of the agent or of all above its keeper: no byte lost, exit and index right (20 rounds)", async () => {
  const { failures, figures } = await crashMatrix(20, 20_261_115);
  console.log("crash matrix", figures);
  expect(failures).toEqual([]);
});
