/** The limits of a run, as its intent keeps them. */
import type { Config } from "../core/config/config.ts";
import type { IntentFact } from "../core/intent.ts";

export function limitsOf(config: Config): Pick<IntentFact, "limits" | "limit_policy"> {
  const { output_limit, wall_limit, idle_limit, token_limit, cost_limit, limit_policy } = config;
  const limits = {
    output_bytes: output_limit,
    wall_ms: wall_limit,
    idle_ms: idle_limit,
    tokens: token_limit,
    cost_usd: cost_limit,
  };
  return { limits, limit_policy };
}
