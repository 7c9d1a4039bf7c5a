/** What may stand where the cursor is. Made from the operations, so a new command or flag is completed without a line here. */
import { MidwatchError } from "../../core/errors.ts";
import { terminalText } from "../../core/text/terminal-text.ts";
import { openWorkspace } from "../../fleet/workspace.ts";
import type { Operation } from "../../operations/operation.ts";
import { type Flag, fieldsOf, flagsOf, GLOBAL_FLAGS } from "../flags.ts";

interface Shell {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

interface Candidates {
  /** What fits beside the words; the shell knows how to find it. */
  also: "files" | "folders" | "nothing";
  /** Word and meaning. */
  words: readonly (readonly [string, string])[];
}

const NOTHING: Candidates = { also: "nothing", words: [] };
const MOST = 200;

/** `typed` are the words behind the program's name; the last is the one to complete. For a shell: see operations/completion. */
export function complete(typed: readonly string[], operations: readonly Operation[], place: Shell): string {
  const { also, words } = candidates(joined(typed), operations, place);
  // The shell shows them on the terminal.
  const lines = words.map(([word, about]) => terminalText(`${word}\t${about}`, false));
  return [also, ...lines].map((line) => `${line}\n`).join("");
}

/** bash takes `--grace=5s` for three words. */
function joined(typed: readonly string[]): { before: string[]; current: string } {
  const before = typed.slice(0, -1);
  const current = typed.at(-1) ?? "";
  const split = current === "=" ? before.at(-1) : before.at(-1) === "=" ? before.at(-2) : undefined;
  if (split?.startsWith("--"))
    return { before: [...before.slice(0, before.lastIndexOf(split) + 1)], current: current === "=" ? "" : current };
  return { before: before.filter((word) => word !== "="), current };
}

function candidates(
  { before, current }: { before: readonly string[]; current: string },
  operations: readonly Operation[],
  place: Shell,
): Candidates {
  const { operation, rest, workspace } = readWords(before, operations);
  const found =
    operation === undefined ? commands(rest, operations) : argument(operation, rest, current, workspace, place);
  // A command of one word may also begin names of two.
  const more = operation !== undefined && rest.length === 0 ? commands([operation.name], operations).words : [];
  const words = [...more, ...found.words].filter(
    ([word]) => word.startsWith(current) && (current !== "" || !word.startsWith("-")),
  );
  return { also: found.also, words };
}

/** The operation of the words, what stands behind its name, and `--workspace`. */
function readWords(before: readonly string[], operations: readonly Operation[]) {
  const rest: string[] = [];
  let workspace: string | undefined;
  for (let i = 0; i < before.length; i++) {
    const word = before[i] as string;
    if (rest.includes("--")) rest.push(word);
    else if (word === "--workspace" && i + 1 < before.length) workspace = before[++i];
    else if (word.startsWith("--workspace=")) workspace = word.slice("--workspace=".length);
    else if (rest.length > 0 || !word.startsWith("-") || word === "--workspace") rest.push(word);
  }
  const named = (count: number): Operation | undefined =>
    operations.find(({ name }) => name === rest.slice(0, count).join(" "));
  const operation = named(2) ?? named(1);
  return { operation, rest: operation ? rest.slice(operation.name.split(" ").length) : rest, workspace };
}

function commands(rest: readonly string[], operations: readonly Operation[]): Candidates {
  if (rest[0] === "--workspace") return { also: "folders", words: [] };
  const asksHelp = rest[0] === "help";
  const [first] = asksHelp ? rest.slice(1) : rest;
  const named = operations.map(({ name, summary }) => [name.split(" "), summary] as const);
  if (first !== undefined) {
    const second = named.filter(([words]) => words.length > 1 && words[0] === first);
    return { also: "nothing", words: second.map(([words, about]) => [words[1] as string, about]) };
  }
  const once = new Map(named.map(([words, about]) => [words[0] as string, words.length > 1 ? "" : about]));
  const flags = asksHelp ? [] : GLOBAL_FLAGS.flatMap(spellings);
  return { also: "nothing", words: [...once, ...(asksHelp ? [] : [["help", "List the commands"] as const]), ...flags] };
}

function argument(
  operation: Operation,
  rest: readonly string[],
  current: string,
  workspace: string | undefined,
  place: Shell,
): Candidates {
  if (rest.includes("--")) return operation.passthrough === undefined ? NOTHING : { also: "files", words: [] };
  const flags = [...flagsOf(operation), ...GLOBAL_FLAGS];
  const taking = (word: string | undefined): Flag | undefined =>
    flags.find((flag) => flag.kind !== "boolean" && (word === `--${flag.name}` || word === `-${flag.short}`));
  const asked = taking(rest.at(-1));
  if (asked !== undefined) return values(asked, current, workspace, place);
  const inline = flags.find((flag) => flag.kind !== "boolean" && current.startsWith(`--${flag.name}=`));
  if (inline !== undefined) {
    const start = `--${inline.name}=`;
    const found = values(inline, current.slice(start.length), workspace, place);
    return { ...found, words: found.words.map(([word, about]) => [`${start}${word}`, about]) };
  }
  const placed = rest.filter((word, i) => !word.startsWith("-") && taking(rest[i - 1]) === undefined);
  const fields = fieldsOf(operation);
  const byPlace = operation.positionals.map((name) => fields.find(({ field }) => field === name));
  const last = byPlace.at(-1);
  const field = byPlace[placed.length] ?? (last?.many ? last : undefined);
  const found = field === undefined ? NOTHING : values(field, current, workspace, place);
  const fresh = found.words.filter(([word]) => !placed.includes(word));
  return { also: found.also, words: [...fresh, ...flags.flatMap(spellings)] };
}

/** Of a switch that is on by default, the spelling that changes something. */
function spellings({ name, about, kind, standard, short }: Flag): [string, string][] {
  const text = about.replace(/\s+/g, " ");
  if (kind === "boolean" && standard === true) return [[`--no-${name}`, `Not: ${text}`]];
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])].map((word) => [word, text]);
}

/** What a value may be is told by the name that stands for it in help. */
function values(field: Flag, current: string, workspace: string | undefined, place: Shell): Candidates {
  const offered = field.choices ?? field.suggestions;
  if (offered !== undefined) return { also: "nothing", words: offered.map((word) => [word, ""]) };
  switch (field.value) {
    case "FILE":
    case "PATH":
      return { also: "files", words: [] };
    case "DIR":
      return { also: "folders", words: [] };
    case "ID":
      return {
        also: "nothing",
        words: known(workspace, place, (one) => one.runs.ids(current, MOST).map((id) => [id, ""])),
      };
    case "TASK":
      return {
        also: "nothing",
        words: known(workspace, place, (one) =>
          one.runs
            .tasks()
            .slice(0, MOST)
            .map(({ task, description }) => [task, (description.split("\n")[0] ?? "").slice(0, 60)]),
        ),
      };
    default:
      return NOTHING;
  }
}

/** Of a workspace that is not there, or cannot be read, nothing is known: a shell that completes shows no errors. */
function known(
  workspace: string | undefined,
  { env, cwd }: Shell,
  read: (workspace: ReturnType<typeof openWorkspace>) => [string, string][],
): [string, string][] {
  try {
    using opened = openWorkspace({ workspace, env, cwd });
    return read(opened);
  } catch (error) {
    if (error instanceof MidwatchError) return [];
    throw error;
  }
}
