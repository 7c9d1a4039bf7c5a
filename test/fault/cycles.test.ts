import { expect, it } from "vitest";
import { cycles } from "../soak/cycles.ts";

// A hundred, another seed every day; `npm run soak` does ten thousand.
it("R-004.5: after many starts and ends no process, descriptor, cgroup, mark or temporary file is left", async () => {
  const { failures, figures, seed } = await cycles(100, Math.floor(Date.now() / 86_400_000));
  console.log("100 cycles", figures);
  expect(failures, `seed ${seed}`).toEqual([]);
});
