/** The flags of an operation, read from the words of its input. `snake_case` fields become `--kebab-case` flags. */
import type { Described, Words } from "../operations/input.ts";
import type { Operation } from "../operations/operation.ts";

export interface Flag {
  field: string;
  /** Without the dashes. */
  name: string;
  kind: "boolean" | "string" | "number";
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
  /** Its schema changes nothing and refuses nothing but another type, a word that is no choice, and what is empty. */
  plain: boolean;
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
export function fieldsOf({ input }: Operation): Flag[] {
  const shape = argument(input.words, "strictObject") as Record<string, Described>;
  return Object.entries(shape).map(([field, { words }]) => {
    const item = argument(words, "array") as Described | undefined;
    const one = item?.words ?? words;
    const said: Partial<Flag> & { suggest?: string[] } = Object.assign(
      {},
      ...words.map(([word, [given]]) => (word === "meta" ? given : word === "describe" ? { about: given } : {})),
    );
    const [kind] = one[0] ?? ["string"];
    const choices = argument(one, "enum") as string[] | undefined;
    const standard = argument(words, "default");
    return {
      field,
      name: field.replaceAll("_", "-"),
      kind: kind === "boolean" || kind === "number" ? kind : "string",
      many: item !== undefined,
      short: said.short,
      value: said.value ?? choices?.join("|") ?? field.toUpperCase(),
      optionalValue: said.optionalValue === true,
      about: said.about ?? "",
      standard,
      choices,
      suggestions: said.suggest,
      required: standard === undefined && !words.some(([word]) => word === "optional"),
      plain: [...words, ...one].every(([word, [given]]) => PLAIN.has(word) || (word === "min" && given === 1)),
    };
  });
}
const PLAIN = new Set(["boolean", "string", "enum", "array", "describe", "meta", "default", "optional"]);

/** What was given with a word; undefined when it was not said. */
function argument(words: Words, of: string): unknown {
  return words.findLast(([word]) => word === of)?.[1][0];
}

/** The fields that are flags: not given by place and not behind `--`. */
export function flagsOf(operation: Operation): Flag[] {
  return fieldsOf(operation).filter(
    ({ field }) => !operation.positionals.includes(field) && field !== operation.passthrough,
  );
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
    plain: true,
  };
}
