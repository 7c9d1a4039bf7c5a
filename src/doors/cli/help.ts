/** Help texts, made from the operations. */
import type { Operation } from "../../operations/operation.ts";
import { type Flag, fieldsOf, flagsOf, GLOBAL_FLAGS } from "../flags.ts";

export const EXIT_CODES =
  "0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 environment (disk, permission, tool missing), 130 interrupted";

export type Bold = (text: string) => string;

/** For someone who types `midwatch` where there is nothing yet. */
export function welcome(bold: Bold): string {
  return `midwatch runs coding agents headless, records everything they print, and stops them with proof.
There is no workspace here yet; the first agent makes one.

${bold("Begin:")}
  midwatch demo                           see it work: half a minute, no key, no network
  midwatch run "fix the failing tests"    an agent CLI that is installed here
  midwatch run -- make test               any command
  midwatch up                             dashboard, watch and limits
  midwatch doctor                         what this machine has and lacks

\`midwatch help\` lists the commands, \`midwatch COMMAND --help\` tells about one.
`;
}

export function overview(operations: readonly Operation[], bold: Bold, width: number): string {
  return [
    wrap("midwatch runs coding agents headless, records everything they print, and stops them with proof.", width),
    "",
    `${bold("Usage:")} midwatch COMMAND [...]`,
    "",
    bold("Commands:"),
    ...table(
      operations.map(({ name, summary }) => [name, summary]),
      width,
    ),
    "",
    "`midwatch COMMAND --help` tells more.",
    "",
  ].join("\n");
}

export function commandHelp(operation: Operation, bold: Bold, width: number): string {
  const flags = flagsOf(operation);
  const sections = [`${bold("Usage:")} ${usageLine(operation)}`, wrap(`${operation.summary}.`, width)];
  if (operation.details !== undefined)
    sections.push(
      operation.details
        .trim()
        .split("\n")
        .map((line) => wrap(line, width))
        .join("\n"),
    );
  const placed = fieldsOf(operation)
    .filter((field) => operation.positionals.includes(field.field) && field.about !== "")
    .map((field): [string, string] => [field.value, about(field)]);
  if (placed.length > 0) sections.push([bold("Arguments:"), ...table(placed, width)].join("\n"));
  const rows = [...flags, ...GLOBAL_FLAGS].map((flag): [string, string] => [spelling(flag), about(flag)]);
  sections.push([bold("Flags:"), ...table(rows, width)].join("\n"));
  if (operation.examples.length > 0) {
    sections.push([bold("Examples:"), ...operation.examples.map((example) => `  ${example}`)].join("\n"));
  }
  sections.push(wrap(`${bold("Exit codes:")} ${EXIT_CODES}`, width));
  return `${sections.join("\n\n")}\n`;
}

export function usageLine(operation: Operation): string {
  const flags = flagsOf(operation);
  const fields = new Map(fieldsOf(operation).map((field) => [field.field, field]));
  const words = operation.positionals.map((name) => {
    const field = fields.get(name);
    const word = `${field?.value ?? name.toUpperCase()}${field?.many === true ? "..." : ""}`;
    return field?.required === true ? word : `[${word}]`;
  });
  const needed = flags.filter(({ required }) => required).map((flag) => `--${flag.name} ${flag.value}`);
  const more = flags.some(({ required }) => !required) ? ["[flags]"] : [];
  const behind = operation.passthrough === undefined ? [] : [`[-- ${operation.passthrough.toUpperCase()}...]`];
  return ["midwatch", operation.name, ...words, ...needed, ...more, ...behind].join(" ");
}

export function spelling(flag: Flag): string {
  const short = flag.short === undefined ? "    " : `-${flag.short}, `;
  if (flag.kind === "boolean") return `${short}--${flag.standard === true ? "[no-]" : ""}${flag.name}`;
  return `${short}--${flag.name} ${flag.optionalValue ? `[${flag.value}]` : flag.value}`;
}

function about(flag: Flag): string {
  const notes: string[] = [];
  if (flag.required) notes.push("required");
  if (flag.many) notes.push("repeatable");
  const said = flag.standard !== undefined && flag.standard !== false && String(flag.standard) !== "";
  if (said) notes.push(`default ${flag.standard}`);
  return notes.length === 0 ? flag.about : `${flag.about} (${notes.join(", ")})`;
}

/** Two columns; the right one is wrapped where there is room for it to be read. */
function table(rows: readonly (readonly [string, string])[], width: number): string[] {
  const left = Math.max(...rows.map(([word]) => word.length));
  const indent = left + 4;
  const room = width - indent;
  return rows.flatMap(([word, text]) => {
    const lines = room < READABLE ? [text] : wrap(text, room).split("\n");
    return lines.map((line, i) => `  ${(i === 0 ? word : "").padEnd(left)}  ${line}`.trimEnd());
  });
}
const READABLE = 24;

/** Broken between words, so that no line is longer unless a word is. */
function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}
