import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { StateFolder } from "../disk/guard/state-folder.ts";
import { sha256Of } from "./config-trust.ts";
import { recordLater } from "./later.ts";
import { sweep } from "./sweep.ts";

const DAY_MS = 24 * 3_600_000;
const name = (n: number): string => String(n).padStart(32, "0");

function stage() {
  const place = folder();
  return { place, state: new StateFolder({ XDG_STATE_HOME: join(place, "state") }) };
}

it("what has been gone for a month goes, and what came back in between stays", () => {
  const { place, state } = stage();
  const [there, gone, back] = ["there", "gone", "back"].map((one) => join(place, one)) as [string, string, string];
  mkdirSync(there);
  for (const [n, path] of [there, gone, back].entries()) state.write("workspaces", name(n), { v: 1, id: "x", path });
  const now = Date.now();
  const kept = (): number[] => [0, 1, 2].filter((n) => state.read("workspaces", name(n)) !== undefined);
  // Not at the first look, however old the record is: a disk may not be mounted just now.
  expect([sweep(state, 100, now + 400 * DAY_MS), kept()]).toEqual([0, [0, 1, 2]]);
  expect([sweep(state, 100, now + 410 * DAY_MS), kept()]).toEqual([0, [0, 1, 2]]);
  mkdirSync(back);
  sweep(state, 100, now + 420 * DAY_MS);
  rmSync(back, { recursive: true });
  expect([sweep(state, 100, now + 431 * DAY_MS), kept()]).toEqual([1, [0, 2]]);
  expect(state.read("workspaces", name(2))).toMatchObject({ v: 1, id: "x", path: back });
});

it("what was to be done later goes when the file that held it is gone for a day", () => {
  const { place, state } = stage();
  const path = join(place, "intent.json");
  recordLater(state, path, "queued", "x is queued");
  recordLater(state, join(place, "none"), "pruned", "a message to y");
  writeFileSync(path, "queued");
  const now = Date.now();
  expect(sweep(state, 100, now)).toBe(0);
  expect(sweep(state, 100, now + 2 * DAY_MS)).toBe(1);
  expect(state.names("later")).toEqual([sha256Of("queued")]);
});

it("one look takes no more than it is told to, and all are looked at in the end", () => {
  const { place, state } = stage();
  for (let n = 0; n < 50; n++) state.write("configs", name(n), { path: join(place, "none"), gone_since: "2020-01-01" });
  let looks = 0;
  for (; state.names("configs").length > 0; looks++) expect(sweep(state, 5)).toBeLessThanOrEqual(5);
  expect(looks).toBe(10);
});
