import { describe, expect, it } from "vitest";
import { pricesCheck } from "../setup/doctor.ts";
import { LISTED, Prices, parsePrices } from "./prices.ts";

const MILLION = 1_000_000;
const tokens = (input: number, output = 0, cache_read = 0, cache_write = 0) => ({
  input,
  output,
  cache_read,
  cache_write,
});
const RATES = { input: 1, output: 10, cache_read: 0.1, cache_write: 2 };
const LONG = { above: 200_000, input: 2, output: 20, cache_read: 0.2, cache_write: 4 };
const SAID = { date: "2026-11-01", source: "contract" };

function file(models: unknown): string {
  return JSON.stringify({ models });
}

describe("a price", () => {
  const prices = new Prices(
    new Map([["m", { ...RATES, ...SAID, tiers: [LONG, { ...LONG, above: 500_000, input: 9 }] }]]),
  );

  it("is of all four kinds of tokens", () => {
    expect(prices.of("m", tokens(100, 10, 1000, 50), 1000)).toBeCloseTo((100 + 100 + 100 + 100) / MILLION, 12);
  });

  it("is that of the tier that the prompt of the request is in, for all of its tokens", () => {
    const million = tokens(MILLION);
    expect(prices.of("m", million, 200_000)).toBe(1);
    expect(prices.of("m", million, 200_001)).toBe(2);
    expect(prices.of("m", million, 500_001)).toBe(9);
    expect(prices.of("m", tokens(0, MILLION), 300_000)).toBe(20);
  });

  it("is not known where requests are not told apart and one of them may have been long", () => {
    expect(prices.of("m", tokens(150_000, 900_000, 50_000))).toBeCloseTo(9.155, 9);
    expect(prices.of("m", tokens(150_000, 0, 50_001))).toBeNull();
    expect(prices.least("m", tokens(MILLION))).toBe(1);
  });

  it("is of the model by any of its names, and of no other size", () => {
    for (const name of ["m", "M", "vendor/m", "m-20260101", "m-2026-01-01", "m-latest"])
      expect(prices.of(name, tokens(1000)), name).toBe(0.001);
    expect(prices.of("m-mini", tokens(1))).toBeNull();
    expect(prices.of(null, tokens(1))).toBeNull();
  });
});

describe("a file of prices", () => {
  it("counts before the list, and adds to it", () => {
    const own = LISTED.with(
      parsePrices("p.json", file({ "GPT-5": { ...RATES, ...SAID }, mine: { ...RATES, ...SAID } })),
    );
    expect([own.of("gpt-5", tokens(MILLION)), own.of("mine", tokens(MILLION))]).toEqual([1, 1]);
    expect(own.of("claude-opus-4-5", tokens(MILLION))).toBe(5);
    expect(LISTED.of("gpt-5", tokens(MILLION))).toBe(1.25);
  });

  it.each([
    ["{", "it is not JSON"],
    ["[]", "it is not an object"],
    ['{"model": {}}', "model is not a field of a list of prices"],
    ["{}", "models is not an object"],
    [file({ m: 1 }), "models.m is not an object"],
    [file({ m: { ...RATES, ...SAID, imput: 1 } }), "models.m.imput is not a field of a price"],
    [file({ m: { ...RATES, ...SAID, output: "10" } }), "models.m.output is not a number of dollars"],
    [file({ m: { ...RATES, ...SAID, cache_read: undefined } }), "models.m.cache_read is not a number of dollars"],
    [file({ m: { ...RATES, ...SAID, input: -1 } }), "models.m.input is not a number of dollars"],
    [file({ m: { ...RATES, ...SAID, date: "yesterday" } }), "models.m.date is not a day"],
    [file({ m: { ...RATES, ...SAID, source: "" } }), "models.m.source does not say"],
    [file({ m: { ...RATES, ...SAID, tiers: {} } }), "models.m.tiers is not a list"],
    [file({ m: { ...RATES, ...SAID, tiers: [{ ...LONG, above: 0 }] } }), "models.m.tiers[0].above is not a number"],
    [
      file({ m: { ...RATES, ...SAID, tiers: [LONG, LONG] } }),
      "models.m.tiers[1].above is not a number of tokens above 200000",
    ],
    [file({ m: { ...RATES, ...SAID, tiers: [{ ...LONG, input: null }] } }), "models.m.tiers[0].input is not a number"],
  ])("that is %s is refused with the name of the field", (text, problem) => {
    expect(() => parsePrices("/p/prices.json", text)).toThrow(
      expect.objectContaining({ code: "BAD_CONFIG", message: expect.stringContaining(`/p/prices.json: ${problem}`) }),
    );
  });
});

describe("the list", () => {
  it("has tiers that ascend and are dearer than what is below them", () => {
    const text = JSON.parse(
      process.getBuiltinModule("node:fs").readFileSync(new URL("./prices.json", import.meta.url), "utf8"),
    );
    // A file of one's own may begin as a copy of it.
    const models = parsePrices("prices.json", JSON.stringify(text));
    expect(models.size).toBeGreaterThan(40);
    const tiered = [...models].filter(([, { tiers }]) => tiers !== undefined);
    expect(tiered.length).toBeGreaterThan(5);
    for (const [model, { input, tiers = [] }] of tiered)
      for (const [n, tier] of tiers.entries()) expect(tier.input, model).toBeGreaterThan(tiers[n - 1]?.input ?? input);
  });

  it("is told to be old when somebody looked more than 120 days ago", () => {
    const looked = Date.parse(LISTED.asOf);
    const days = (n: number): number => looked + n * 24 * 3_600_000;
    expect(pricesCheck(LISTED, days(120))).toEqual(["ok", expect.stringContaining(LISTED.asOf)]);
    expect(pricesCheck(LISTED, days(121))).toEqual([
      "warning",
      expect.stringMatching(
        /^\d+ prices are older than 120 days \(\d{4}-\d\d-\d\d\): update midwatch, or set prices_file/,
      ),
    ]);
  });
});
