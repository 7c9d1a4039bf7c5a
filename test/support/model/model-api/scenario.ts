/** What a scripted model does. A scenario is chosen by the base URL that a client is given; see server.ts. */
import type { Tokens } from "../../../../src/core/types.ts";

/** A tool call in neutral words; tools.ts turns it into the tool that the client really offers. */
export type Call =
  | { bash: string }
  | { write: string; content: string }
  | { read: string }
  /** By the client's own name for it. */
  | { own: string; input: Readonly<Record<string, unknown>> }
  | { mcp: string; tool: string; input: Readonly<Record<string, unknown>> };

/** One answer. The step without a call ends the turn; behind the last step it is repeated. */
export interface Step {
  think?: string;
  say?: string;
  call?: Call;
}

export type Fault = (
  | { kind: "status"; status: number; message?: string; code?: string; headers?: Readonly<Record<string, string>> }
  /** Takes the request and never answers. */
  | { kind: "silent" }
  /** Answers half of the stream, then nothing more. */
  | { kind: "stall" }
  /** Answers half of the stream, then closes the connection. */
  | { kind: "cut" }
) & {
  /** How many requests it strikes; all when absent. Faults strike in their order. */
  times?: number;
};

export interface Scenario {
  steps: readonly Step[];
  /** What it says where no tools are offered; a title when absent. Faults strike there too then. */
  aside?: string;
  faults?: readonly Fault[];
  /** A pause between two events of a stream. */
  chunkMs?: number;
  /** What the model thinks before the first of them. */
  thinkMs?: number;
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** What an answer is said to have cost: another figure for each step and each kind, so that no mix-up goes unseen. */
export function usageOf(step: number, cacheWrites: boolean): Tokens {
  return { input: 1000 + 10 * step, output: 100 + step, cache_read: 50, cache_write: cacheWrites ? 7 : 0 };
}

export function add(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
  };
}
