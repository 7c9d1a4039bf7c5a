import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder } from "../../test/support/folder.ts";
import type { SpentPart } from "../core/types.ts";
import { Ledger, type RunTotals } from "./ledger.ts";

const DAY_MS = 24 * 3_600_000;
const NOON = Date.parse("2026-11-19T12:00:00Z");

interface Book {
  path: string;
  ledger: Ledger;
  aside: string[];
}

function book(path = join(folder(), "spend.db")): Book {
  const aside: string[] = [];
  const ledger = new Ledger(
    () => path,
    (where) => aside.push(where),
  );
  onTestFinished(() => ledger.close());
  return { path, ledger, aside };
}

function part(tokens: number, usd: number | null, estimated = true, model: string | null = "gpt-5"): SpentPart {
  return { model, tokens: { input: tokens, output: 0, cache_read: 0, cache_write: 0 }, usd, estimated };
}

function word(parts: readonly SpentPart[], more: Partial<RunTotals> = {}): RunTotals {
  const told_usd = parts.some(({ estimated }) => !estimated)
    ? parts.reduce((sum, { usd }) => sum + (usd ?? 0), 0)
    : null;
  const workspace = { id: "w1", project: "/home/p/one" };
  return { workspace, task: "T", agent: "a", run: 1, labels: [], parts, told_usd, final: false, ...more };
}

describe("a word about a run", () => {
  it("counts what is new in it, and the same word again is no news", () => {
    const { ledger } = book();
    expect(ledger.record(word([part(10, 0.1)]), NOON)).toBe(true);
    expect(ledger.record(word([part(10, 0.1)]), NOON)).toBe(false);
    expect(ledger.record(word([part(30, 0.3)]), NOON + 60_000)).toBe(true);
    const spent = { usd: 0.3, estimated_usd: 0.3, runs: 1, unpriced: 0 };
    expect(ledger.spent({})).toMatchObject({ ...spent, tokens: { input: 30 } });
    expect(ledger.spent({ sinceMs: NOON + 60_000 })).toMatchObject({ usd: 0.2, tokens: { input: 20 } });
    expect(ledger.spent({ untilMs: NOON + 60_000 })).toMatchObject({ usd: 0.1, tokens: { input: 10 } });
  });

  it("of one that is behind says nothing, and nobody goes back behind the end", () => {
    const { ledger } = book();
    ledger.record(word([part(30, 0.3)]), NOON);
    expect(ledger.record(word([part(20, 0.2)]), NOON)).toBe(false);
    // Its CLI's own figure is nearer than an estimate of more.
    expect(ledger.record(word([part(29, 0.25, false)]), NOON)).toBe(true);
    expect(ledger.record(word([part(40, 0.4)]), NOON)).toBe(false);
    expect(ledger.record(word([part(25, 0.2, false)], { final: true }), NOON)).toBe(true);
    expect(ledger.record(word([part(50, 0.5, false)]), NOON)).toBe(false);
    expect(ledger.record(word([part(25, 0.2, false)], { final: true }), NOON)).toBe(false);
    expect(ledger.spent({})).toMatchObject({ usd: 0.2, estimated_usd: 0, tokens: { input: 25 } });
    expect(ledger.known("w1")).toEqual(new Map([["a.1", true]]));
  });

  it("of one that was taken up in the middle and knows of less money says nothing", () => {
    const { ledger } = book();
    ledger.record(word([part(30, 0.3)]), NOON);
    expect(ledger.record(word([part(40, null)]), NOON)).toBe(false);
    expect(ledger.spent({})).toMatchObject({ usd: 0.3, unpriced: 0 });
  });

  it("whose model has no price is counted in tokens, until there is one", () => {
    const { ledger } = book();
    ledger.record(word([part(10, null, true, "new"), part(10, 0.1)]), NOON);
    expect(ledger.spent({})).toMatchObject({ usd: 0.1, unpriced: 1, tokens: { input: 20 } });
    expect(ledger.sums({}, "model")).toMatchObject([
      { of: "gpt-5", unpriced: 0 },
      { of: "new", usd: 0, unpriced: 1 },
    ]);
    ledger.record(word([part(10, 0.5, true, "new"), part(10, 0.1)]), NOON + DAY_MS);
    expect(ledger.spent({})).toMatchObject({ usd: 0.6, unpriced: 0, tokens: { input: 20 } });
  });

  it("comes to the exact figure at the end, whoever said what before and in which order", () => {
    const said = fc.record({
      tokens: fc.nat(1000),
      usd: fc.nat(1000),
      told: fc.boolean(),
      model: fc.constantFrom("x", "y"),
    });
    fc.assert(
      fc.property(fc.array(said, { maxLength: 12 }), said, (words, end) => {
        const ledger = new Ledger(() => ":memory:");
        const one = ({ tokens, usd, told, model }: typeof end): SpentPart => part(tokens, usd / 1000, !told, model);
        for (const [n, each] of words.entries()) {
          const before = ledger.spent({}).usd;
          ledger.record(word([one(each)]), NOON + n * 60_000);
          // Only its CLI's own word takes money back.
          if (!each.told) expect(ledger.spent({}).usd).toBeGreaterThanOrEqual(before);
        }
        ledger.record(word([one(end)], { final: true }), NOON + DAY_MS);
        for (const each of words) ledger.record(word([one(each)]), NOON + 2 * DAY_MS);
        const { usd, tokens } = ledger.spent({});
        ledger.close();
        return usd === end.usd / 1000 && tokens.input === end.tokens;
      }),
      { numRuns: 50 },
    );
  });
});

describe("what is asked", () => {
  const other = { id: "w2", project: "/home/p/two" };

  it("is of a workspace, a label, some agents, and summed by any of its names", () => {
    const { ledger } = book();
    ledger.record(word([part(10, 1)], { agent: "a", labels: ["night", "x"] }), NOON);
    ledger.record(word([part(10, 2)], { agent: "b", task: "U" }), NOON);
    ledger.record(word([part(10, 4, true, "openai/gpt-5-20260101")], { agent: "a", workspace: other }), NOON);
    expect(ledger.spent({ workspace: "w1" }).usd).toBe(3);
    expect(ledger.spent({ workspace: "none" }).usd).toBe(0);
    expect(ledger.spent({ label: "night" }).usd).toBe(1);
    expect(ledger.spent({ workspace: "w1", agents: ["b", "c"] }).usd).toBe(2);
    const names = (by: Parameters<Ledger["sums"]>[1]): [string, number][] =>
      ledger.sums({}, by).map(({ of, usd }) => [of, usd]);
    expect(names("project")).toEqual([
      ["/home/p/two", 4],
      ["/home/p/one", 3],
    ]);
    expect(names("agent")).toEqual([
      ["a", 5],
      ["b", 2],
    ]);
    expect(names("task")).toEqual([
      ["T", 5],
      ["U", 2],
    ]);
    expect(names("model")).toEqual([["gpt-5", 7]]);
  });

  it("over time lies in the stretch in which it was spent", () => {
    const { ledger } = book();
    ledger.record(word([part(10, 1)]), NOON);
    ledger.record(word([part(20, 3)]), NOON + 59 * 60_000);
    ledger.record(word([part(30, 7)]), NOON + 60 * 60_000);
    const hours = [NOON - 3_600_000, NOON, NOON + 3_600_000, NOON + 2 * 3_600_000];
    expect(ledger.series({}, hours).map(({ sinceMs, usd }) => [sinceMs, usd])).toEqual([
      [NOON, 3],
      [NOON + 3_600_000, 4],
    ]);
    // Not on the clock's quarters either.
    const odd = [NOON + 60_000, NOON + 60 * 60_000, NOON + 61 * 60_000];
    expect(ledger.series({}, odd, "agent")).toMatchObject([
      { of: "a", usd: 2, tokens: { input: 10 } },
      { of: "a", usd: 4, tokens: { input: 10 } },
    ]);
    expect(ledger.firstMs({})).toBe(NOON);
  });

  it("stays the same when points of long ago are folded into days", () => {
    const { path, ledger } = book();
    const old = Math.floor((Date.now() - 500 * DAY_MS) / DAY_MS) * DAY_MS;
    for (let n = 0; n < 100; n++) ledger.record(word([part(n + 1, (n + 1) / 7)]), old + n * 60_000);
    const before = ledger.spent({});
    // Whoever writes first on another day folds.
    ledger.close();
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    const db = new DatabaseSync(path);
    db.exec("DELETE FROM meta WHERE key = 'folded'");
    db.close();
    ledger.record(word([part(1, 1)], { agent: "b" }), Date.now());
    const count = new DatabaseSync(path);
    expect(count.prepare("SELECT count(*) AS n FROM points").get()).toEqual({ n: 2 });
    count.close();
    expect(ledger.spent({ agents: ["a"] })).toEqual(before);
    expect(ledger.spent({ sinceMs: old, untilMs: old + DAY_MS })).toEqual(before);
  });
});

describe("the file", () => {
  it("is its user's alone", () => {
    const { path, ledger } = book();
    ledger.record(word([part(1, 1)]));
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  });

  it("when it is damaged is put aside and begun anew, which is told once", () => {
    const { path, ledger } = book();
    ledger.record(word([part(1, 1)]), NOON);
    ledger.close();
    writeFileSync(path, Buffer.concat([readFileSync(path).subarray(0, 100), Buffer.alloc(8192, 7)]));
    const [one, two] = [book(path), book(path)];
    expect(one.ledger.spent({}).usd).toBe(0);
    expect(two.ledger.record(word([part(1, 2)]), NOON)).toBe(true);
    expect(one.ledger.spent({}).usd).toBe(2);
    expect([...one.aside, ...two.aside]).toEqual([expect.stringMatching(/spend\.db\.corrupt\.\d{8}T\d{9}Z$/)]);
    expect(existsSync(one.aside[0] ?? "")).toBe(true);
  });

  it("when it is deleted is made again", () => {
    const { path, ledger } = book();
    ledger.record(word([part(1, 1)]), NOON);
    for (const suffix of ["", "-wal", "-shm"]) process.getBuiltinModule("node:fs").rmSync(path + suffix);
    expect(ledger.record(word([part(1, 1)]), NOON)).toBe(true);
    expect(ledger.spent({}).usd).toBe(1);
  });
});
