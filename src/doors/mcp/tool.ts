/**
 * A tool is an operation under the name that callers of MCP know, with arguments taken from the operation's own schema and an
 * answer in the fields that they expect. What it may do is decided by the operation; nothing here has a rule of its own.
 */
import { z } from "zod";
import { MidwatchError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import { type Operation, usage } from "../../operations/operation.ts";
import { schemaOf } from "../../operations/schema.ts";
import type { Notices } from "../notices.ts";

type Values = Readonly<Record<string, unknown>>;

/** What a tool is given to answer one call. */
export interface Call {
  /** What the operation gives; of a stream all items. */
  ask<T>(operation: Operation, input: Values): Promise<T>;
  /** Its items, as they come. */
  items<T>(operation: Operation, input: Values): AsyncIterable<T>;
  /** Only for reading what no operation tells. */
  workspace(): Workspace;
  /** The agent that calls; undefined is a person. */
  readonly agent: string | undefined;
  /** Things a person should know, collected from the operation. */
  readonly notices: Notices;
  readonly signal: AbortSignal;
  progress(text: string): void;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  /** What it does and when to use it, for the model. */
  readonly about: string;
  readonly operation: Operation;
  /** Argument → field of the operation: type, check and description are the operation's. */
  readonly fields: Readonly<Record<string, string>>;
  /** Arguments that no field of the operation stands for. */
  readonly more: z.ZodObject;
  /** The answer, beside `success`, `warnings` and `guidance`. */
  readonly output: z.ZodObject;
  /** It can end or delete something. */
  readonly destructive: boolean;
  /** The same call again changes nothing more. */
  readonly idempotent: boolean;
  run(call: Call, input: Values, more: never): Promise<Reply>;
}

export interface Guidance {
  current_state: string;
  next_action: string;
  available_actions: string[];
}

export interface Reply {
  success?: boolean;
  guidance: Guidance;
  [field: string]: unknown;
}

interface ToolSpec<More extends z.ZodRawShape>
  extends Pick<Tool, "name" | "title" | "about" | "operation">,
    Partial<Pick<Tool, "fields" | "destructive" | "idempotent">> {
  more?: More;
  output: z.ZodRawShape;
  run(call: Call, input: Values, more: z.output<z.ZodObject<More>>): Promise<Reply>;
}

export function tool<More extends z.ZodRawShape = Record<never, never>>(spec: ToolSpec<More>): Tool {
  return {
    fields: {},
    destructive: false,
    idempotent: false,
    ...spec,
    more: z.object(spec.more ?? {}),
    output: z.object({ success: z.boolean(), ...spec.output, warnings: z.array(z.string()), guidance: GUIDANCE }),
  } as Tool;
}

const GUIDANCE = z
  .object({
    current_state: z.string(),
    next_action: z.string().describe("What to do next"),
    available_actions: z.array(z.string()),
  })
  .describe("What the answer means for the caller");

/** The arguments that a tool takes. */
export function argumentsOf({ fields, more, operation }: Tool): z.ZodObject {
  const { shape } = schemaOf(operation);
  const taken = Object.entries(fields).map(([name, field]) => [name, shape[field]] as const);
  return z.strictObject({ ...Object.fromEntries(taken), ...more.shape } as z.ZodRawShape);
}

/** Checks the arguments; gives what is for the operation under its own names, and the rest. */
export function readArguments(of: Tool, given: unknown): { input: Values; more: never } {
  const args = (given ?? {}) as Values;
  const schema = argumentsOf(of);
  const checked = schema.safeParse(args);
  if (!checked.success) throw badArgument(of, checked.error.issues[0], Object.keys(schema.shape));
  const input = Object.entries(of.fields).flatMap(([name, field]) => (name in args ? [[field, args[name]]] : []));
  return { input: Object.fromEntries(input), more: of.more.parse(args) as never };
}

function badArgument({ name }: Tool, issue: z.core.$ZodIssue | undefined, known: readonly string[]): MidwatchError {
  if (issue?.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    return new MidwatchError("USAGE", `${name} has no argument ${JSON.stringify(key)}.`, {
      hint: didYouMean(key, known, `There are: ${known.join(", ")}.`),
    });
  }
  const at = issue?.path.join(".") || "the arguments";
  return usage(`${name}: ${at}: ${issue?.message ?? "not valid"}`, "See the description of the tool's arguments.");
}
