import { expect, it } from "vitest";
import type { IntentFact } from "../core/intent.ts";
import { type Done, hasMoneyLimit, nextDeed, passedBy, type Spending } from "./money-plan.ts";

const limits = (tokens: number, cost_usd: number): IntentFact["limits"] => ({
  output_bytes: 0,
  wall_ms: 0,
  idle_ms: 0,
  tokens,
  cost_usd,
});
const spending = (input: number, usd: number, estimated = false): Spending => ({
  tokens: { input, output: 1, cache_read: 2, cache_write: 3 },
  usd,
  estimated,
});

it.each<[string, IntentFact["limits"], Spending, string | undefined]>([
  ["nothing is limited", limits(0, 0), spending(1e9, 1e9), undefined],
  ["at the limit", limits(106, 5), spending(100, 5), undefined],
  ["tokens of every kind", limits(105, 0), spending(100, 0), "106 tokens, at most 105"],
  ["cost that the CLI told", limits(0, 0.05), spending(0, 0.07), "0.07 USD, at most 0.05"],
  ["cost by prices", limits(0, 0.05), spending(0, 0.07, true), "~0.07 USD, at most 0.05"],
  ["nothing was told yet", limits(1, 1), { tokens: null, usd: 0, estimated: false }, undefined],
])("what is passed: %s", (_, given, spent, reason) => expect(passedBy(given, spent)?.reason).toBe(reason));

it("a passed limit has its value and what was spent", () => {
  expect(passedBy(limits(0, 0.05), spending(0, 0.07))).toMatchObject({ limit: "cost", value: 0.05, spent: 0.07 });
  expect([limits(0, 0), limits(1, 0), limits(0, 0.1)].map((one) => hasMoneyLimit({ limits: one }))).toEqual([
    false,
    true,
    true,
  ]);
});

it.each<[IntentFact["limit_policy"], Done, number, ReturnType<typeof nextDeed>]>([
  ["stop", { told: false }, 0, "stop"],
  ["stop", { told: true }, 0, "stop"],
  ["notify", { told: false }, 0, "tell"],
  ["notify", { told: true }, 1e9, undefined],
  ["interrupt", { told: false }, 0, "interrupt"],
  ["interrupt", { told: true, interruptedMs: 1000 }, 5999, undefined],
  ["interrupt", { told: true, interruptedMs: 1000 }, 6001, "stop"],
])("policy %s, done %j, at %d: %s", (limit_policy, done, nowMs, deed) =>
  expect(nextDeed({ limit_policy, grace_ms: 5000 }, done, nowMs)).toBe(deed),
);
