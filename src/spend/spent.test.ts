import { describe, expect, it } from "vitest";
import { claude } from "../drivers/claude.ts";
import { priceOf, spent } from "./spent.ts";

const usage = { input_tokens: 1000, output_tokens: 100, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const message = (id: string, model: string): object => ({
  type: "assistant",
  message: { id, model, content: [{ type: "text", text: "so far" }], usage },
});
const TOKENS = { input: 1000, output: 100, cache_read: 0, cache_write: 0 };

describe("what a run has spent", () => {
  it("is known by the list before its CLI tells a cost, each model at its own price", () => {
    const reader = claude.reader(null);
    expect(spent(reader.result(), null)).toEqual({ usd: null, estimated: false, least: 0 });
    reader.read(message("a", "claude-opus-4-5"));
    reader.read(message("b", "claude-haiku-4-5"));
    const both = (priceOf("claude-opus-4-5", TOKENS) ?? 0) + (priceOf("claude-haiku-4-5", TOKENS) ?? 0);
    expect(both).toBeGreaterThan(0);
    expect(spent(reader.result(), null)).toEqual({ usd: both, estimated: true, least: both });
  });

  it("is what the CLI told, and by the list what came since", () => {
    const reader = claude.reader(null);
    reader.read(message("a", "claude-opus-4-5"));
    const modelUsage = { "claude-opus-4-5": { inputTokens: 1000, outputTokens: 100 } };
    reader.read({ type: "result", subtype: "success", total_cost_usd: 0.5, modelUsage });
    expect(spent(reader.result(), null)).toEqual({ usd: 0.5, estimated: false, least: 0.5 });
    reader.read(message("b", "claude-opus-4-5"));
    const now = 0.5 + (priceOf("claude-opus-4-5", TOKENS) ?? 0);
    expect(spent(reader.result(), null)).toEqual({ usd: now, estimated: true, least: now });
  });

  it("is not known when a model has no price, but never less than the rest of it", () => {
    const reader = claude.reader(null);
    reader.read(message("a", "claude-opus-4-5"));
    reader.read(message("b", "some-model-of-tomorrow"));
    const least = priceOf("claude-opus-4-5", TOKENS);
    expect(spent(reader.result(), null)).toEqual({ usd: null, estimated: true, least });
  });
});
