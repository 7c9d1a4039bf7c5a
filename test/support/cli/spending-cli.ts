/**
 * A CLI that spends: plays the part of Claude Code, tells of a model call each so often, with as many tokens as cost a given sum by the list of
 * prices, and goes on until it is ended.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Of one token of input of the model that it says it uses, in dollars. */
const TOKEN_USD = 5 / 1_000_000;

export interface Spending {
  usdPerCall: number;
  everyMs: number;
  /** After so many it waits without a word; for ever otherwise. */
  calls?: number;
}

/** Puts a `claude` into a folder of its own, which it gives: to be first on PATH. */
export function spendingCli(folder: string, { usdPerCall, everyMs, calls = 1e9 }: Spending): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const usage = { input_tokens: Math.round(usdPerCall / TOKEN_USD), output_tokens: 0 };
  const message = { id: "m-ID", model: "claude-opus-4-5", content: [{ type: "text", text: "on it" }], usage };
  const [before, after] = JSON.stringify({ type: "assistant", message }).split("ID");
  const script = `#!/bin/sh
n=0
while [ $n -lt ${calls} ]; do
  n=$((n + 1))
  echo '${before}'$$-$n'${after}'
  sleep ${everyMs / 1000}
done
exec sleep 1000
`;
  writeFileSync(join(bin, "claude"), script, { mode: 0o755 });
  return bin;
}
