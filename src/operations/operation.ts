/**
 * An operation is one thing a caller may ask for; the doors (CLI, MCP, HTTP) are made from this description alone. The
 * input (input.ts) is the single source of flags, help, JSON Schema and checks: each field says what it is by `.describe()`, and by
 * `.meta({ short, value, suggest })` how the CLI names it and which words it offers.
 */
import type { ZodObject } from "zod";
import type { ConfigInput } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { type Caller, openWorkspace, type Workspace } from "../fleet/workspace.ts";
import type { Described, Output } from "./input.ts";
import { assertMay } from "./rights.ts";

export { type Output, z } from "./input.ts";

/** What a door knows about the caller. */
export interface Context {
  door: "cli" | "mcp" | "http" | "nats";
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `--workspace DIR`, when given. */
  workspace: string | undefined;
  /** The caller wants records, not text. */
  json: boolean;
  /** A person looks at the answer on a terminal. */
  terminal: boolean;
  /** Held open by a door that serves many callers: who asks, and the workspace in its name. Missing: each call opens its own. */
  served?: { workspace: Workspace; caller: Caller } | undefined;
  /** Opens the HTTP door beside the operation; only the CLI can. */
  serve?: ((workspace: Workspace, options: ServeOptions) => Promise<Served>) | undefined;
  /** Answers what other hosts of the fleet ask, beside the operation and until its signal; only the CLI can. */
  answerFleet?: ((workspace: Workspace, options: Pick<ServeOptions, "tell">) => Promise<void>) | undefined;
  /** Opens the MCP door on this process's own input and output, until that ends; only the CLI can. */
  serveMcp?: (() => Promise<void>) | undefined;
  /** Aborted when the caller has gone or asked to end. */
  signal: AbortSignal;
  /** How far long work has come; shown on a terminal only. */
  progress(text: string): void;
  /** Lines that are drawn anew while something is waited for; missing where no person looks at a terminal. */
  live?: Live | undefined;
  /** Something a person should know that is not the answer; the CLI prints it on stderr. */
  notice(text: string): void;
}

export interface Live {
  readonly width: number;
  readonly height: number;
  show(lines: readonly string[]): void;
  clear(): void;
}

export interface ServeOptions {
  host: string;
  /** 0 is any free one; undefined the usual one or, when that is in use, the next free one. */
  port: number | undefined;
  allowRemote: boolean;
  /** Where a proxy in front of this server is reached: its name and origin count as ours. */
  publicUrl?: string | undefined;
  tell(text: string): void;
}

export interface Served {
  url: string;
  /** Opens the page; good once. */
  link: string;
  close(): Promise<void>;
}

export interface RenderOptions {
  color: boolean;
  /** Columns of the terminal, 80 when there is none. */
  width: number;
  /** There is a terminal: tables are cut to its width. */
  fit: boolean;
}

/** What somebody asked a server to change. */
export interface Change {
  operation: string;
  input: unknown;
  /** Undefined is a person. */
  by: AgentId | undefined;
  /** The code of the error; null when it was done. */
  error: string | null;
}

/** As the doors see it; `data` is whatever `run` gave, or one item of it when it is a stream. */
export interface Operation {
  readonly name: string;
  /** One line, no full stop. */
  readonly summary: string;
  readonly details?: string | undefined;
  readonly input: Described;
  /** Names of input fields given by place; the last may be an array and takes the rest. */
  readonly positionals: readonly string[];
  /** Name of the array field that takes everything behind `--` as it is. */
  readonly passthrough?: string | undefined;
  /** Whether it changes anything; MCP and HTTP tell callers. */
  readonly changes: boolean;
  /** With this input it only looks, though it keeps what it saw: nobody needs to be told who looked. */
  looks?(input: unknown): boolean;
  /** Makes sense in a terminal only: no other door has it. */
  readonly cliOnly?: true | undefined;
  readonly examples: readonly string[];
  /** Data, an array (a list: one JSON line each), or a stream of items. Bytes are printed as they are. */
  run(context: Context, input: unknown): unknown;
  /** For people. */
  render?(data: unknown, options: RenderOptions): string;
  /** The next useful command. */
  next?(data: unknown): string | undefined;
  /** 0 unless told otherwise; of a stream the highest counts. */
  exitCode?(data: unknown, input: unknown): number;
}

/** As its author writes it: input and data have their types. */
export interface OperationSpec<Input extends ZodObject, Data>
  extends Omit<Operation, "input" | "positionals" | "looks" | "run" | "render" | "next" | "exitCode"> {
  readonly input: Input;
  readonly positionals?: Operation["positionals"];
  looks?(input: Output<Input>): boolean;
  run(context: Context, input: Output<Input>): Data | Promise<Data> | AsyncIterable<Data>;
  render?(data: NoInfer<Data>, options: RenderOptions): string;
  next?(data: NoInfer<Data>): string | undefined;
  exitCode?(data: NoInfer<Data>, input: Output<Input>): number;
}

export function operation<Input extends ZodObject, Data>(spec: OperationSpec<Input, Data>): Operation {
  const run: typeof spec.run = (context, input) => {
    assertMay(context, spec.name);
    return spec.run(context, input);
  };
  // Doors validate with `input` before they call `run`, so dropping the types here is safe.
  return { positionals: [], ...spec, run } as unknown as Operation;
}

export function usage(message: string, hint: string): MidwatchError {
  return new MidwatchError("USAGE", message, { hint });
}

export function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

/** The workspace of a call: the one that the door holds open, or found by the caller's place and opened once. */
export function workspaceOf(
  context: Context,
  more: { make?: boolean; config?: ConfigInput; fallbackDir?: string | undefined } = {},
): Workspace {
  const { served } = context;
  // Neither another workspace nor another place for it: what a server serves is one workspace.
  if (served !== undefined) return served.workspace.as(served.caller, more.config);
  const workspace = openWorkspace({ workspace: context.workspace, cwd: context.cwd, env: context.env, ...more });
  for (const text of workspace.cautions()) context.notice(text);
  return workspace;
}
