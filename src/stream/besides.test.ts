import { expect, it } from "vitest";
import type { Uncosted } from "../drivers/driver.ts";
import { emptyResult } from "../drivers/stream.ts";
import { withBesides } from "./besides.ts";

const tokens = (input: number) => ({ input, output: 0, cache_read: 0, cache_write: 0 });
const used = (input: number, model = "gpt-a"): Uncosted => ({ model, tokens: tokens(input) });
const told = { ...emptyResult(), session: "s", tokens: tokens(50), uncosted: [{ model: null, tokens: tokens(50) }] };

it("leaves what the stream told where there are no files", () => {
  expect(withBesides(told, { together: false, total: null, main: [], others: [] })).toBe(told);
});

it("takes the greater count of the first thread, never both, with its models", () => {
  const more = withBesides(told, { together: false, total: tokens(80), main: [used(80)], others: [] });
  expect(more).toMatchObject({ tokens: tokens(80), uncosted: [used(80)], model: "gpt-a" });
  expect(more.session_use).toEqual({ tokens: tokens(80), cost_usd: null });
  const same = withBesides(told, { together: false, total: tokens(50), main: [used(50)], others: [] });
  expect(same).toMatchObject({ tokens: tokens(50), uncosted: [used(50)] });
  const less = withBesides(told, { together: false, total: tokens(20), main: [used(20)], others: [] });
  expect(less).toMatchObject({ tokens: tokens(50), uncosted: told.uncosted });
});

it("adds the threads that the first one started, each at its model's price", () => {
  const all = withBesides(told, {
    together: false,
    total: tokens(50),
    main: [used(50)],
    others: [used(7), used(9, "gpt-b"), used(1)],
  });
  expect(all.tokens).toEqual(tokens(67));
  expect(all.uncosted).toEqual([used(58), used(9, "gpt-b")]);
});

it("tells a session's total where the stream has told none: the next run begins there", () => {
  const killed = { ...told, tokens: null, session_use: { tokens: tokens(10), cost_usd: null } };
  const now = withBesides(killed, { together: false, total: tokens(90), main: [used(80)], others: [] });
  expect(now.session_use).toEqual({ tokens: tokens(90), cost_usd: null });
});

it("where the stream counts all threads, the files count as a whole, and not against a cost that the CLI told", () => {
  const besides = { together: true, total: tokens(40), main: [used(40)], others: [used(30)] };
  expect(withBesides(told, besides)).toMatchObject({ tokens: tokens(70), uncosted: [used(70)] });
  expect(withBesides(told, { ...besides, others: [used(5)] })).toBe(told);
  const costed = { ...told, cost_usd: 1 };
  expect(withBesides(costed, besides)).toBe(costed);
});
