/** docs/operations.md: every operation as all doors have it, from the same table. */
import { JSON_FIELDS } from "../../operations/json-fields.ts";
import type { Operation } from "../../operations/operation.ts";
import { type Flag, fieldsOf, GLOBAL_FLAGS } from "../flags.ts";
import { EXIT_CODES, spelling, usageLine } from "./help.ts";

const HEAD = `# Operations

One table, every door: a command of the CLI and a route of the HTTP server are the same operation with the same input. Made by
\`npm run docs\` from \`src/operations\`; do not edit.

- CLI: \`snake_case\` fields are \`--kebab-case\` flags. HTTP: \`GET /api/NAME?field=value\` where nothing is changed, \`POST /api/NAME\` with a JSON
  object for all; of a name of two words \`/api/jsonl/tail\` ([http.md](http.md)).
- \`--json\` prints one object, of a list or a stream one object a line. These fields stay: new ones are added, none is renamed. Times are ISO 8601
  UTC with milliseconds; what is not known is null. With \`--json\` an error is the only thing on stderr, \`{"error":{code, message, hint, retryable}}\`
  ([errors.md](errors.md)).
- Exit codes: ${EXIT_CODES}.
`;

export function reference(operations: readonly Operation[]): string {
  const contents = operations.map(
    ({ name, summary }) => `| [${name}](#${name.replaceAll(" ", "-")}) | ${cell(summary)} |`,
  );
  const globals = GLOBAL_FLAGS.map(flagRow);
  return [
    HEAD,
    "| operation | does |\n|---|---|",
    ...contents,
    "\nFlags of every command:\n\n| flag | means |\n|---|---|",
    ...globals,
    ...operations.map(section),
    "",
  ].join("\n");
}

function section(operation: Operation): string {
  const { name, summary, details, changes, cliOnly, examples, positionals, passthrough } = operation;
  const fields = fieldsOf(operation);
  const route = cliOnly ? "CLI only" : `HTTP \`${changes ? "POST" : "GET"} /api/${name.replaceAll(" ", "/")}\``;
  const rows = fields.map((flag) =>
    positionals.includes(flag.field) || flag.field === passthrough ? placedRow(flag) : flagRow(flag),
  );
  const json = Object.entries(JSON_FIELDS[name] ?? {});
  return [
    `\n## ${name}\n`,
    `${summary}.${details === undefined ? "" : `\n\n${details.trim().replaceAll("<", "&lt;").replaceAll("\n", "  \n")}`}\n`,
    `\`${usageLine(operation)}\` · ${route} · ${changes ? "changes something" : "only looks"}`,
    ...(rows.length > 0 ? ["\n| input | means |\n|---|---|", ...rows] : []),
    ...(json.length > 0
      ? [`\n\`--json\`: ${json.map(([field, about]) => `\`${field}\`${about && ` (${about})`}`).join(", ")}.`]
      : []),
    ...(examples.length > 0 ? [`\n\`\`\`sh\n${examples.join("\n")}\n\`\`\``] : []),
  ].join("\n");
}

function flagRow(flag: Flag): string {
  return `| \`${spelling(flag).trim().replaceAll("|", "\\|")}\` | ${about(flag)} |`;
}

function placedRow(flag: Flag): string {
  return `| ${flag.value.replaceAll("|", "\\|")} (\`${flag.field}\`) | ${about(flag)} |`;
}

function about({ about: text, required, many, standard }: Flag): string {
  const said = standard !== undefined && standard !== false && String(standard) !== "";
  const notes = [required && "required", many && "repeatable", said && `default \`${standard}\``].filter(Boolean);
  return cell([text, notes.length > 0 ? `(${notes.join(", ")})` : ""].filter(Boolean).join(" "));
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
