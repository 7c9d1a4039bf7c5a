/** From argv to the input of an operation. Every refusal names the flag and what to write instead. */
import { parseArgs } from "node:util";
import type { z } from "zod";
import { MidwatchError } from "../../core/errors.ts";
import { nearest } from "../../core/nearest.ts";
import type { Operation } from "../../operations/operation.ts";
import { type Flag, fieldsOf, flagsOf, GLOBAL_FLAGS } from "../flags.ts";

interface Globals {
  json: boolean;
  help: boolean;
  workspace: string | undefined;
}

export interface Parsed {
  globals: Globals;
  /** Not validated yet. */
  input: Record<string, unknown>;
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];

/** Reads the words behind the command's name. */
export function parse(operation: Operation, args: readonly string[]): Parsed {
  const flags = new Map([...GLOBAL_FLAGS, ...flagsOf(operation)].map((flag) => [flag.name, flag]));
  const values: Record<string, unknown> = {};
  const words: string[] = [];
  const behind: string[] = [];
  let terminated = false;
  for (const token of tokens(operation, args, flags)) {
    if (token.kind === "option-terminator") terminated = true;
    else if (token.kind === "positional") (terminated && operation.passthrough ? behind : words).push(token.value);
    else readOption(operation, token, flags, values);
  }
  const { json, help, workspace, ...input } = values;
  if (help !== true) placePositionals(operation, words, input);
  if (operation.passthrough !== undefined && terminated) input[operation.passthrough] = behind;
  return { globals: { json: json === true, help: help === true, workspace: workspace as string | undefined }, input };
}

/** Checks the input; what zod finds becomes one sentence about the first fault. Most of what is typed has no need of zod. */
export async function validate(operation: Operation, input: Record<string, unknown>): Promise<unknown> {
  const taken = plainly(operation, input);
  if (taken !== undefined) return taken;
  const { schemaOf } = await import("../../operations/schema.ts");
  const checked = schemaOf(operation).safeParse(input);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw usage(operation, issue === undefined ? "The input is not valid." : sentence(operation, issue, input));
}

/** What the schema would give; undefined where it has to look. */
export function plainly(operation: Operation, input: Record<string, unknown>): unknown {
  const taken: Record<string, unknown> = {};
  for (const flag of fieldsOf(operation)) {
    const given = input[flag.field];
    if (given === undefined ? flag.required : !fits(flag, given)) return undefined;
    const value = given ?? flag.standard;
    if (value !== undefined) taken[flag.field] = value;
  }
  return taken;
}

function fits({ plain, many, kind, choices }: Flag, value: unknown): boolean {
  const all = many ? value : [value];
  if (!plain || !Array.isArray(all) || all.length === 0) return false;
  return all.every((one) => typeof one === kind && one !== "" && (choices?.includes(one) ?? true));
}

function tokens(operation: Operation, args: readonly string[], flags: ReadonlyMap<string, Flag>): Token[] {
  const options: Record<string, { type: "boolean" | "string"; short?: string; multiple: true }> = {};
  for (const flag of flags.values()) {
    options[flag.name] = {
      type: flag.kind === "boolean" ? "boolean" : "string",
      multiple: true,
      ...(flag.short === undefined ? {} : { short: flag.short }),
    };
  }
  const filled = fillOptionalValues(args, flags);
  try {
    return parseArgs({ args: filled, options, strict: false, allowPositionals: true, tokens: true }).tokens;
  } catch (error) {
    throw usage(operation, error instanceof Error ? error.message : String(error));
  }
}

/** parseArgs knows no optional value: `--resume` without one becomes `--resume=`. */
function fillOptionalValues(args: readonly string[], flags: ReadonlyMap<string, Flag>): string[] {
  const end = args.indexOf("--");
  return args.map((arg, i) => {
    const optional = arg.startsWith("--") && flags.get(arg.slice(2))?.optionalValue === true;
    const next = args[i + 1];
    const bare = optional && (end === -1 || i < end) && (next === undefined || next.startsWith("-"));
    return bare ? `${arg}=` : arg;
  });
}

function readOption(
  operation: Operation,
  token: Extract<Token, { kind: "option" }>,
  flags: ReadonlyMap<string, Flag>,
  values: Record<string, unknown>,
): void {
  const negated = token.name.startsWith("no-") ? flags.get(token.name.slice(3)) : undefined;
  const flag = flags.get(token.name) ?? (negated?.kind === "boolean" ? negated : undefined);
  if (flag === undefined) throw unknownFlag(operation, token.rawName, [...flags.keys()]);
  if (flag.kind === "boolean") {
    if (token.inlineValue === true) throw usage(operation, `${token.rawName} takes no value.`);
    values[flag.field] = flag === flags.get(token.name);
    return;
  }
  const text = token.value;
  // `--reason --json` is more likely a forgotten value than a reason called --json.
  if (text === undefined || (token.inlineValue !== true && /^-./.test(text) && !/^-\d/.test(text))) {
    throw usage(
      operation,
      `${token.rawName} needs a value (${flag.value}).`,
      `A value that begins with - is written ${token.rawName}=${text ?? "VALUE"}.`,
    );
  }
  const value = convert(flag, text);
  if (flag.many) values[flag.field] = [...((values[flag.field] as unknown[]) ?? []), value];
  else if (flag.field in values) throw usage(operation, `${token.rawName} is given twice.`);
  else values[flag.field] = value;
}

function placePositionals(operation: Operation, words: readonly string[], input: Record<string, unknown>): void {
  const fields = new Map(fieldsOf(operation).map((field) => [field.field, field]));
  const rest = [...words];
  for (const name of operation.positionals) {
    const field = fields.get(name);
    if (field === undefined || rest.length === 0) continue;
    if (field.many) input[name] = rest.splice(0).map((word) => convert(field, word));
    else input[name] = convert(field, rest.shift() ?? "");
  }
  if (rest.length > 0) throw usage(operation, `There is one word too many: ${JSON.stringify(rest[0])}.`);
}

/** Numbers are read here, so that the schema stays honest for MCP and HTTP. What does not read is left to zod. */
function convert({ kind }: Flag, text: string): unknown {
  return kind === "number" && /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

function sentence(operation: Operation, issue: z.core.$ZodIssue, input: Record<string, unknown>): string {
  const field = fieldsOf(operation).find((each) => each.field === issue.path[0]);
  if (field === undefined) return `${issue.message}.`;
  const placed = operation.positionals.includes(field.field);
  const shown = placed ? field.value : `--${field.name}`;
  const given = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], input);
  if (given === undefined) return `${shown} is missing.`;
  const quoted = JSON.stringify(given);
  switch (issue.code) {
    case "invalid_type":
      return `${shown}: ${quoted} is not ${NOUNS[issue.expected] ?? issue.expected}.`;
    case "invalid_value":
      return `${shown}: ${quoted} is not one of ${issue.values.map(String).join(", ")}.`;
    case "too_small":
      if (issue.origin === "string") return `${shown} must not be empty.`;
      return `${shown}: ${quoted} is too small, the least is ${issue.minimum}.`;
    case "too_big":
      return `${shown}: ${quoted} is too large, the most is ${issue.maximum}.`;
    case "custom":
      return `${shown}: ${issue.message}`;
    default:
      return `${shown}: ${quoted} is not valid (${issue.message}).`;
  }
}

const NOUNS: Readonly<Record<string, string>> = {
  number: "a number",
  int: "a whole number",
  string: "a text",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

function unknownFlag(operation: Operation, raw: string, known: readonly string[]): MidwatchError {
  const near = raw.startsWith("--") ? nearest(raw.slice(2), known) : undefined;
  const below = /^-\d/.test(raw) ? "No amount here is below zero." : undefined;
  const hint = near === undefined ? below : `Did you mean --${near}?`;
  return usage(operation, `${raw} is not a flag of midwatch ${operation.name}.`, hint);
}

function usage(operation: Operation, message: string, hint?: string): MidwatchError {
  return new MidwatchError("USAGE", message, { hint: hint ?? `See \`midwatch ${operation.name} --help\`.` });
}
