import { expect, it } from "vitest";
import { readBesideWrite } from "../soak/read-beside-write.ts";

it("R-000.28, R-000.36: a hundred reads a second beside a writer: no error, no loss, no repeat", async () => {
  expect((await readBesideWrite(8, 7)).failures).toEqual([]);
});
