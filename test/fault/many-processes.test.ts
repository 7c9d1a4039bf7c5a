import { expect, it } from "vitest";
import { manyProcesses } from "../soak/many-processes.ts";

it("R-004.7, R-000.8: 8 processes start 12 agents each at once: no id twice, no error, no lost row", async () => {
  const { failures, figures } = await manyProcesses(12);
  console.log("8 processes at once", figures);
  expect(failures).toEqual([]);
});
