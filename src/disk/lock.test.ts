import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { layout } from "./layout.ts";
import { alone, takeLock } from "./lock.ts";

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

it("many at once work one after the other, each with the file that has the name; none is left", async () => {
  const paths = layout(folder());
  let inside = 0;
  const done: number[] = [];
  const act = async (i: number): Promise<void> => {
    expect(++inside).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 3));
    inside--;
    done.push(i);
  };
  await Promise.all(Array.from({ length: 30 }, (_, i) => alone(paths, paths.locks.prune, () => act(i))));
  expect(done).toHaveLength(30);
  await expect(alone(paths, paths.locks.prune, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(readdirSync(join(paths.root, "locks"))).toEqual([]);
});

it("one whose file is deleted keeps its place only until another has made the next; no link is followed", async () => {
  const paths = layout(folder());
  mkdirSync(join(paths.root, "elsewhere"));
  symlinkSync(join(paths.root, "elsewhere"), join(paths.root, "locks"));
  await expect(alone(paths, paths.locks.prune, () => 1)).rejects.toMatchObject({ code: "UNSAFE_PATH" });
  expect(readdirSync(join(paths.root, "elsewhere"))).toEqual([]);
  rmSync(join(paths.root, "locks"));
  await alone(paths, paths.locks.prune, async () => {
    rmSync(join(paths.root, "locks"), { recursive: true });
    expect(await alone(paths, paths.locks.prune, () => "another")).toBe("another");
  });
});
