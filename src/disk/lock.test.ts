import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { takeLock } from "./lock.ts";

it("one holder at a time; nothing is written but an empty file of ours", async () => {
  const place = folder();
  const path = join(place, "lock");
  const first = await takeLock(path, 0);
  expect(first).toBeDefined();
  expect(await takeLock(path, 20)).toBeUndefined();
  const waiting = takeLock(path, 5000);
  first?.release();
  const second = await waiting;
  expect(second).toBeDefined();
  expect(readdirSync(place)).toEqual(["lock"]);
  expect(statSync(path)).toMatchObject({ size: 0, mode: 0o100600 });
  second?.release();
});
