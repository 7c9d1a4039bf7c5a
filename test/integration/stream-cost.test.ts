/** What each recorded stream cost, against the CLI's own figures in it, read here without the drivers. */
import { appendFileSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { driverNamed } from "../../src/drivers/index.ts";
import { costBy, priceOf } from "../../src/spend/spent.ts";
import { StreamState } from "../../src/stream/stream-state.ts";
import { RunReading } from "../../src/watch/run-reading.ts";
import { PlainLog } from "../support/cli/plain-log.ts";
import { folder } from "../support/folder.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/streams", import.meta.url));
const streams = globSync("*.jsonl", { cwd: FOLDER }).map((file) => ({
  name: basename(file, ".jsonl"),
  cli: file.split("-")[0] as string,
  path: join(FOLDER, file),
}));

// biome-ignore lint/suspicious/noExplicitAny: four foreign formats, read as they are
type Line = any;

/** Null where the CLI gives no figure: it was ended before it could. */
function ownFigure(cli: string, lines: readonly Line[]): { tokens: number; cost: number | null } | null {
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  switch (cli) {
    case "claude": {
      const result = lines.findLast(({ type }) => type === "result");
      if (result === undefined) return null;
      const uses: Line[] = Object.values(result.modelUsage);
      const kinds = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
      return { tokens: sum(uses.flatMap((use) => kinds.map((kind) => use[kind]))), cost: result.total_cost_usd };
    }
    case "codex": {
      const usage = lines.findLast(({ type }) => type === "turn.completed")?.usage;
      return usage === undefined ? null : { tokens: usage.input_tokens + usage.output_tokens, cost: null };
    }
    case "gemini": {
      const stats = lines.findLast(({ type }) => type === "result")?.stats;
      return stats === undefined ? null : { tokens: stats.total_tokens, cost: null };
    }
    default: {
      const parts = lines.filter(({ type }) => type === "step_finish").map(({ part }) => part);
      const tokens = parts.map(({ tokens: t }) => t.input + t.output + t.reasoning + t.cache.read + t.cache.write);
      return parts.length === 0 ? null : { tokens: sum(tokens), cost: sum(parts.map(({ cost }) => cost)) };
    }
  }
}

/** A stream with all that hears it. */
function reading(cli: string, path: string): { state: StreamState; heard: RunReading } {
  const heard = new RunReading("Mend the parser");
  const driver = driverNamed(cli);
  return { state: new StreamState(new PlainLog(path), { driver, before: null, listener: heard.take }), heard };
}

function total(tokens: { input: number; output: number; cache_read: number; cache_write: number } | null): number {
  return tokens === null ? 0 : tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}

it.each(streams)("the cost of $name is what the CLI says", async ({ cli, path }) => {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  const own = ownFigure(
    cli,
    lines.map((line) => JSON.parse(line)),
  );
  const { state } = reading(cli, path);
  expect(await state.readOn(false)).toBe(false);
  expect(state.place.offset).toBe(readFileSync(path).length);
  if (own === null) return;
  expect(total(state.result.tokens)).toBe(own.tokens);
  if (own.cost !== null) expect(state.result.cost_usd).toBeCloseTo(own.cost, 10);
  const [record] = costBy([{ task: "t", agent: "a", ...state.result }], "task");
  expect(record?.cost_usd).toBeCloseTo(own.cost ?? priceOf(state.result.model, state.result.tokens) ?? 0, 10);
});

it("taken up after any line, a reading comes to what one without a break does", async () => {
  for (const { cli, path } of streams) {
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    if (lines.length === 0) continue;
    const copy = join(folder(), "stream.jsonl");
    let before: ReturnType<typeof reading> | undefined;
    for (const line of lines) {
      appendFileSync(copy, `${line}\n`);
      const next = reading(cli, copy);
      if (before !== undefined) next.state.takeUp(before.state.place, { tokens: null, cost_usd: null });
      await next.state.readOn(true);
      before = next;
    }
    const whole = reading(cli, copy);
    await whole.state.readOn(true);
    const seen = ({ state, heard }: typeof whole): object => {
      const { updated_at: _, ...place } = state.place;
      return { result: state.result, recent: heard.recent, place };
    };
    if (before !== undefined) expect(seen(before)).toEqual(seen(whole));
  }
});

it("the list gives what Claude Code worked out by the list price for each model of the recorded streams", () => {
  const uses = streams
    .filter(({ cli }) => cli === "claude")
    .flatMap(({ path }): [string, Line][] => {
      const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
      const results = lines.map((line): Line => JSON.parse(line)).filter(({ type }) => type === "result");
      return results.flatMap(({ modelUsage }) => Object.entries(modelUsage));
    })
    .filter(([, use]) => use.costUSD > 0);
  expect(uses.length).toBeGreaterThan(0);
  for (const [model, use] of uses) {
    const { inputTokens: input, outputTokens: output } = use;
    const tokens = { input, output, cache_read: use.cacheReadInputTokens, cache_write: use.cacheCreationInputTokens };
    expect(priceOf(model, tokens)).toBeCloseTo(use.costUSD, 9);
  }
});

it("every price says where it was found and when, and none is free", () => {
  const text = readFileSync(new URL("../../src/spend/prices.json", import.meta.url), "utf8");
  const { sources, models } = JSON.parse(text) as Record<"sources" | "models", Record<string, Line>>;
  for (const [model, { source, input, output }] of Object.entries(models)) {
    expect(sources[source]?.where, model).toBeTypeOf("string");
    expect(sources[source].checked, model).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(Math.min(input, output), model).toBeGreaterThan(0);
  }
});

it("a model has its own price or none: a dated name has the price of its family, another size has not", () => {
  const tokens = { input: 1_000_000, output: 0, cache_read: 0, cache_write: 0 };
  expect(priceOf("claude-sonnet-4-5-20250929", tokens)).toBe(3);
  expect(priceOf("openai/gpt-5", tokens)).toBe(1.25);
  expect(priceOf("gpt-5-huge", tokens)).toBeNull();
  expect(priceOf(null, tokens)).toBeNull();
  expect(priceOf("gpt-5", null)).toBeNull();
  const [one, all] = costBy([{ task: "t", agent: "a", model: "gpt-5-huge", tokens, cost_usd: null }], "model");
  expect(one).toMatchObject({ of: "gpt-5-huge", cost_usd: 0, unpriced: 1 });
  expect(all).toMatchObject({ of: "all", runs: 1 });
});
