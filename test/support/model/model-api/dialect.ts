/** What the server needs to know of a vendor's API. Each dialect is one file of pure functions over JSON. */
import { randomUUID } from "node:crypto";
import type { Tokens } from "../../../../src/core/types.ts";

export interface Tool {
  name: string;
  /** Codex puts the tools of an MCP server into a namespace. */
  namespace?: string | undefined;
}

export interface ToolCall extends Tool {
  input: Readonly<Record<string, unknown>>;
}

/** What a request says. Every step but the last calls one tool, so the results since the last prompt tell the step. */
export interface Conversation {
  model: string;
  step: number;
  /** None: a side request such as one for a title. */
  tools: readonly Tool[];
  stream: boolean;
}

export interface Answer {
  model: string;
  think: string;
  say: string;
  call: ToolCall | null;
  usage: Tokens;
}

export interface Dialect {
  readonly name: string;
  readonly path: RegExp;
  /** Whether its usage tells what was written to a cache. */
  readonly cacheWrites: boolean;
  read(body: unknown, path: string): Conversation;
  /** The answer as server-sent events, the text in several. */
  stream(answer: Answer): string[];
  /** The answer as one JSON value. */
  whole(answer: Answer): unknown;
  /** An error's body; `code` is the vendor's own word where the status alone does not tell. */
  failure(status: number, message: string, code?: string): unknown;
}

export function id(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "").slice(0, 24);
}

export function event(data: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

const SHORTEST_PIECE = 12;
const MOST_PIECES = 40;

/** A text as it comes in a stream: few enough pieces to be quick, enough to be cut in the middle. */
export function pieces(text: string): string[] {
  const size = Math.max(SHORTEST_PIECE, Math.ceil(text.length / MOST_PIECES));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}
