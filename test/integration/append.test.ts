import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";

const WORKER = fileURLToPath(new URL("../support/worker/append-worker.ts", import.meta.url));

it("R-000.7: 5 processes that append to one file lose nothing and never interleave", async () => {
  const file = join(folder(), "events.log");
  const each = 400;
  const children = Array.from({ length: 5 }, (_, i) => fork(WORKER, [file, `w${i}`, String(each)]));
  expect(await Promise.all(children.map((child) => once(child, "exit")))).toEqual(children.map(() => [0, null]));
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  const seen = lines.filter((line) => line !== "").map((line) => JSON.parse(line));
  for (const i of children.keys()) {
    const own = seen.filter(({ source }) => source === `w${i}`).map(({ line }) => line);
    expect(own).toEqual(Array.from({ length: each }, (_, n) => n));
  }
});
