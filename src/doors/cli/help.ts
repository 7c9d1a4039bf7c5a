/** Help texts, made from the operations. */
import type { Operation } from "../../operations/operation.ts";
import { type Flag, fieldsOf, flagsOf, GLOBAL_FLAGS } from "./flags.ts";

const EXIT_CODES =
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

export function overview(operations: readonly Operation[], bold: Bold): string {
  const width = Math.max(...operations.map(({ name }) => name.length));
  return [
    "midwatch runs coding agents headless, records everything they print, and stops them with proof.",
    "",
    `${bold("Usage:")} midwatch COMMAND [...]`,
    "",
    bold("Commands:"),
    ...operations.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "`midwatch COMMAND --help` tells more.",
    "",
  ].join("\n");
}

export function commandHelp(operation: Operation, bold: Bold): string {
  const flags = flagsOf(operation);
  const sections = [`${bold("Usage:")} ${usageLine(operation, flags)}`, `${operation.summary}.`];
  if (operation.details !== undefined) sections.push(operation.details.trim());
  const placed = fieldsOf(operation).filter(
    ({ field, about }) => operation.positionals.includes(field) && about !== "",
  );
  if (placed.length > 0)
    sections.push([bold("Arguments:"), ...table(placed.map((field) => [field.value, about(field)]))].join("\n"));
  const rows = [...flags, ...GLOBAL_FLAGS].map((flag): [string, string] => [spelling(flag), about(flag)]);
  sections.push([bold("Flags:"), ...table(rows)].join("\n"));
  if (operation.examples.length > 0) {
    sections.push([bold("Examples:"), ...operation.examples.map((example) => `  ${example}`)].join("\n"));
  }
  sections.push(`${bold("Exit codes:")} ${EXIT_CODES}`);
  return `${sections.join("\n\n")}\n`;
}

function usageLine(operation: Operation, flags: readonly Flag[]): string {
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

function spelling(flag: Flag): string {
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

function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd());
}
