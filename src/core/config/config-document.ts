/** docs/config.md, made from the table; a test compares the file with this. */

import { envName, RUNTIME_VARIABLES, SEED_VARIABLES } from "./config.ts";
import { CONFIG_FIELDS, CONFIG_KEYS, type ConfigField } from "./config-fields.ts";

/** Of the seed's names (R-004.10), beside the setting that each is. */
const SEED_NOTES: Readonly<Record<string, string>> = {
  CLEANUP_GRACE_PERIOD: "Seconds.",
  CLEANUP_PS_TIMEOUT: "Seconds. midwatch starts no ps: it bounds its own search for what is left of a run.",
  CLEANUP_ARCHIVE_DIR:
    "One name, no path: the archive stays in the task's folder. A task keeps the name that it was made with.",
  CLEANUP_ZOMBIE_LIMIT: "A number. Nothing is cut off in the record (`stop --json`, `done.json`).",
};

function names(...guards: string[]): string {
  const keys = CONFIG_KEYS.filter((key) => guards.includes((CONFIG_FIELDS[key] as ConfigField).guard ?? ""));
  const families = ["llm", "sync", "nats"].filter((family) => keys.some((key) => key.startsWith(`${family}_`)));
  const others = keys.filter((key) => !families.some((family) => key.startsWith(`${family}_`)));
  return [...others.map((key) => `\`${key}\``), ...families.map((family) => `\`${family}_*\``)].join(", ");
}

export function configDocument(): string {
  const rows = CONFIG_KEYS.map((key) => {
    const { kind, default: standard, about }: ConfigField = CONFIG_FIELDS[key];
    const values = typeof kind === "string" ? kind : kind.map((value) => `\`${value}\``).join(", ");
    return `| \`${key}\` | \`${envName(key)}\` | ${values} | \`${standard}\` | ${about} |`;
  });
  const seeds = Object.entries(SEED_VARIABLES).map(
    ([name, [key]]) => `| \`${name}\` | The same as \`${key}\`; ${envName(key)} wins. ${SEED_NOTES[name]} |`,
  );
  return `# Configuration

<!-- Generated from src/core/config/config-fields.ts: npx vitest run src/core/config/config.test.ts -u -->

midwatch needs no configuration. Where you want another value, the order is: default < \`midwatch.config.json\` (beside
\`.agent-workspace\`) < environment < flag. A name that is not in this table is refused with the nearest known one.

| name | variable | values | default | what it sets |
|---|---|---|---|---|
${rows.join("\n")}

A size is \`500M\`, \`2GiB\`, \`64k\` (powers of 1,024) or a number of bytes. A duration is \`250ms\`, \`5s\`, \`10m\`, \`24h\`, \`14d\` or a
number of milliseconds. It must hold that \`disk_floor\` < \`disk_refuse\` < \`disk_warn\`. An empty variable counts as not set.

Five names hold objects: \`drivers\` (drivers.md), \`headings\` (journal.md), \`rules\` (watch.md), \`alerts\` (alerts.md) and \`budget\` (budget.md). Names that begin with
\`llm_\` may be written as one too: \`{"llm": {"provider": "anthropic", "every": "10m"}}\`.

## What needs trust

The file comes with the project, so whoever may edit the project may edit it. \`drivers\`, \`alerts\` and ${names("trust")} count only
in a file that you trusted as it is: \`midwatch trust\` shows what would take effect and records path and SHA-256 in
\`$XDG_STATE_HOME/midwatch\`, outside of every project. ${names("less", "limit")} count without trust as long as they allow agents no
more than the default. A \`budget\` that nobody trusted counts where it is stricter than what you said. What does not count is named in one line of each command. Scripts and CI can set \`MIDWATCH_TRUST=SHA256[,SHA256]\` (of the
file, and of each driver module that it names); inside a run that has no effect.

## Variables of a run

${RUNTIME_VARIABLES.map((name) => `\`${name}\``).join(", ")} are set by midwatch for the processes it starts, or name its parts,
what a script trusts and what \`npm run bench:watch\` measures. They are not configuration.

Inside a run the environment and the flags are the agent's own words. They count where they are stricter than \`midwatch.config.json\` (a lower limit, a
higher \`disk_floor\`, fewer children) or bound nothing (\`grace\`, \`tier\`); nothing is raised by them, and no program, file or address is taken from them.
The same holds for what an agent asks over HTTP or MCP. A child's limits of time, output, tokens and cost are at most its parent's.

## Older names

| variable | effect |
|---|---|
${seeds.join("\n")}
`;
}
