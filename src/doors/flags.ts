/** The flags of an operation, read from its input schema. `snake_case` fields become `--kebab-case` flags. */
import { z } from "zod";
import type { Operation } from "../operations/operation.ts";

export interface Flag {
  field: string;
  /** Without the dashes. */
  name: string;
  kind: "boolean" | "string" | "number" | "json";
  /** May be given several times. */
  many: boolean;
  short: string | undefined;
  /** What stands for the value in help: `--grace DURATION`. */
  value: string;
  /** The value may be left out (`--resume`); the field is then "". */
  optionalValue: boolean;
  about: string;
  standard: unknown;
  choices: readonly string[] | undefined;
  /** Words that fit, among others. */
  suggestions: readonly string[] | undefined;
  required: boolean;
}

interface Property {
  type?: string | string[];
  items?: Property;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  short?: string;
  value?: string;
  optionalValue?: boolean;
  suggest?: string[];
}

/** Taken by every command. */
export const GLOBAL_FLAGS: readonly Flag[] = [
  global("json", "boolean", "Print JSON; of a list one object a line", ""),
  global(
    "workspace",
    "string",
    "The workspace (else MIDWATCH_WORKSPACE, else the nearest .agent-workspace upward)",
    "DIR",
  ),
  { ...global("help", "boolean", "Print this help", ""), short: "h" },
];

/** Every input field of the operation, those given by place too. */
export function fieldsOf(operation: Operation): Flag[] {
  const schema = z.toJSONSchema(operation.input, { io: "input", unrepresentable: "any" });
  const required = new Set(schema.required ?? []);
  return Object.entries((schema.properties ?? {}) as Record<string, Property>).map(([field, property]) => {
    const many = property.type === "array";
    const one = many ? (property.items ?? {}) : property;
    return {
      field,
      name: field.replaceAll("_", "-"),
      kind: kindOf(one),
      many,
      short: property.short,
      value: property.value ?? one.enum?.join("|") ?? field.toUpperCase(),
      optionalValue: property.optionalValue === true,
      about: property.description ?? "",
      standard: property.default,
      choices: one.enum?.map(String),
      suggestions: property.suggest,
      required: required.has(field),
    };
  });
}

/** The fields that are flags: not given by place and not behind `--`. */
export function flagsOf(operation: Operation): Flag[] {
  return fieldsOf(operation).filter(
    ({ field }) => !operation.positionals.includes(field) && field !== operation.passthrough,
  );
}

function kindOf({ type }: Property): Flag["kind"] {
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  const text = type === "string" || (Array.isArray(type) && type.includes("string"));
  return text ? "string" : "json";
}

function global(name: string, kind: Flag["kind"], about: string, value: string): Flag {
  return {
    field: name,
    name,
    kind,
    about,
    value,
    many: false,
    short: undefined,
    optionalValue: false,
    standard: undefined,
    choices: undefined,
    suggestions: undefined,
    required: false,
  };
}
