import { createInterface } from "node:readline/promises";
import { CLIENTS, type Edit, planEdit, presentClients, writeEdit } from "../../setup/mcp-clients.ts";
import { type Context, type Operation, operation, usage, z } from "../operation.ts";
import { paint } from "../render.ts";

/** Lines around a change. */
const AROUND = 3;

export const mcpInstall: Operation = operation({
  name: "mcp install",
  summary: "Tell MCP clients of `midwatch mcp`: show the change of their settings, then write it",
  details:
    "Everything else in the file stays as it is, byte for byte; the old file is kept as .bak. Without --client every client that is found here. Without --yes it asks, and outside a terminal it only shows.",
  input: z.strictObject({
    client: z.array(z.enum(CLIENTS)).describe("Which client; may be given again").default([]),
    yes: z.boolean().describe("Write without asking").meta({ short: "y" }).default(false),
  }),
  changes: true,
  cliOnly: true,
  examples: ["midwatch mcp install", "midwatch mcp install --client claude --yes"],
  async *run(context, { client, yes }) {
    const wanted = client.length > 0 ? client : presentClients(context.env);
    if (wanted.length === 0) throw usage("No MCP client was found here.", `Name one: --client ${CLIENTS.join("|")}`);
    for (const edit of [...new Set(wanted)].map((name) => planEdit(name, context.env))) {
      const diff = diffOf(edit);
      const write = edit.before !== edit.after && (yes || (await agreed(context, edit, diff)));
      const backup = write ? writeEdit(edit) : null;
      const action =
        edit.before === edit.after ? ("unchanged" as const) : write ? ("written" as const) : ("shown" as const);
      yield { client: edit.client, file: edit.file, action, backup, diff };
    }
  },
  render: ({ client, file, action, backup, diff }, options) => {
    const lines = diff
      .split("\n")
      .map((line) => paint(line, line[0] === "+" ? "green" : line[0] === "-" ? "red" : "dim", options));
    const said = {
      unchanged: `${client}  ${file} has it already`,
      written: `${client}  ${file} written${backup === null ? "" : `, the old one is ${backup}`}`,
      shown: `${client}  ${file} not written`,
    }[action];
    return action === "unchanged" ? said : `${lines.join("\n")}\n${said}`;
  },
  next: ({ action, client }) => (action === "shown" ? `midwatch mcp install --client ${client} --yes` : undefined),
  exitCode: ({ action }) => (action === "shown" ? 1 : 0),
});

async function agreed(context: Context, { file }: Edit, diff: string): Promise<boolean> {
  if (!context.terminal || !process.stdin.isTTY || context.json) return false;
  context.notice(`this would change:\n${diff}`);
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(`Write ${file}? [y/N] `, { signal: context.signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}

/** One change in one place, with the lines around it. */
function diffOf({ file, before, after }: Edit): string {
  const [old, now] = [before, after].map((text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))) as [
    string[],
    string[],
  ];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const mark = (sign: string, lines: string[]): string[] => lines.map((line) => sign + line);
  return [
    `--- ${file}`,
    `+++ ${file}`,
    ...mark(" ", now.slice(Math.max(0, head - AROUND), head)),
    ...mark("-", old.slice(head, old.length - tail)),
    ...mark("+", now.slice(head, now.length - tail)),
    ...mark(" ", now.slice(now.length - tail, Math.min(now.length, now.length - tail + AROUND))),
  ].join("\n");
}

export const mcp: Operation = operation({
  name: "mcp",
  summary: "Serve the Model Context Protocol on stdin and stdout, for agents and editors",
  details:
    "Started by an MCP client, not by a person: `midwatch mcp install` tells a client of it. Ends when its input ends; agents that were started through it go on. `midwatch up` serves the same over HTTP at /mcp (docs/mcp.md).",
  input: z.strictObject({}),
  changes: true,
  cliOnly: true,
  examples: ["midwatch mcp", "midwatch mcp install --client claude"],
  run: async (context) => {
    if (context.serveMcp === undefined)
      throw usage("Only the command line can serve on its own input.", "midwatch mcp");
    await context.serveMcp();
  },
});
