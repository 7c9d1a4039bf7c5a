/** What an agent prints, says or is called does not reach the terminal of the person who looks as something that it obeys. On a real pty. */
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lab } from "../support/lab.ts";
import { CLI, ended, type Lab, until } from "../support/workspace.ts";

const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") === true;
if (!hasScript) console.log("SKIPPED: script of util-linux makes the terminal, and is not installed");

const ESC = "\u001b";
/** Clears the screen, sets title and clipboard, asks the terminal, writes over the line, turns words round, in 7 and 8 bits. */
const EVIL = `${ESC}[2J${ESC}[H${ESC}]0;pwned\u0007${ESC}]52;c;cm0=${ESC}\\${ESC}[6n${ESC}Pq${ESC}\\\u009b2J safe\rEVIL\u202etxt.exe\u200b${ESC}[8m hidden`;
const OBEYED = new RegExp(
  [
    "[\\0-\\b\\v\\f\\u000e-\\u001a\\u001c-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2066-\\u2069]",
    "\\u001b(?!\\[[\\d;]*m)",
    "\\u001b\\[8m",
    "\\r(?!\\r*\\n)",
  ].join("|"),
);

function quoted(...words: string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

/** What the terminal was told by `midwatch ARGS` in it: by stdout and stderr together. */
async function onTerminal(at: Lab, ...args: string[]): Promise<string> {
  const command = quoted(process.execPath, CLI, "--workspace", at.root, ...args);
  const env = { ...process.env, TERM: "xterm-256color", NO_COLOR: "" };
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd: at.folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Our own line of progress is written over.
  return (await ended(at.watch(child))).stdout.replaceAll(`\r${ESC}[K`, "");
}

async function stage(): Promise<{ at: Lab; agent: string; file: string }> {
  const at = lab();
  const file = join(at.folder, "evil.txt");
  writeFileSync(file, `${EVIL}\n`);
  const { agent } = await at.sh(`cat '${file}'; cat '${file}' >&2; exit 3`);
  await at.workspace.runs.wait([agent]);
  await at.workspace.journal.append({ interaction: 1, actor: `A${EVIL}`, type: "note", content: EVIL });
  at.workspace.runs.makeTask(`goal ${EVIL}`);
  await at.workspace.runs.start({ argv: ["true", EVIL], name: "named" });
  return { at, agent, file };
}

it.skipIf(!hasScript)(
  "output, journal, names and errors that hold control sequences do nothing to the terminal",
  async () => {
    const { at, agent, file } = await stage();
    const commands = [
      ["logs", agent],
      ["logs", "--stderr", agent],
      ["logs", "--json", agent],
      ["logs", "--no-mask", agent],
      ["logs", "--pretty", agent],
      ["logs", "-f", agent],
      ["page", agent],
      ["timeline", agent],
      ["attach", "--no-tmux", agent],
      ["search", "safe"],
      ["search", "--json", "safe"],
      ["show", agent],
      ["show", "named"],
      ["summary", agent],
      ["ls", "--all"],
      ["tasks"],
      ["tasks", "--json"],
      ["events"],
      ["events", "--json"],
      ["jsonl", "tail", file],
      ["status"],
      ["__complete", "run", "--task", ""],
      // What was typed comes back in an error.
      ["show", EVIL.replaceAll("\0", "")],
      [`nonsense${EVIL}`],
      ["logs", `--${EVIL}`],
    ];
    for (const words of commands) {
      const told = await onTerminal(at, ...words);
      expect([words, OBEYED.exec(told)?.[0]]).toEqual([words, undefined]);
    }
    expect(await onTerminal(at, "logs", agent)).toContain("␛[2J␛[H␛]0;pwned␇");
  },
);

it.skipIf(!hasScript)("a log that is followed while the agent prints does nothing to the terminal either", async () => {
  const at = lab();
  const file = join(at.folder, "go");
  writeFileSync(file, "");
  const { agent } = await at.sh(
    `tail -n +1 -f '${file}' --pid $$ & while ! grep -q END '${file}'; do sleep 0.05; done; sleep 0.2`,
  );
  const told = onTerminal(at, "logs", "-f", agent);
  let length = 0;
  // In pieces, so that a sequence comes in two.
  for (const part of [`${ESC}`, `[2J one${ESC}]0;`, `title\u0007\n`, "END\n"]) {
    appendFileSync(file, part);
    length += Buffer.byteLength(part);
    await until(async () => (await at.raw(agent)).length >= length, 10_000, "the agent printed it");
  }
  expect(OBEYED.exec(await told)?.[0]).toBeUndefined();
});

it.skipIf(!hasScript)(
  "--raw gives the terminal the bytes as they are, and readable colours pass without it",
  async () => {
    const { at, agent } = await stage();
    expect(await onTerminal(at, "logs", "--raw", agent)).toContain(`${ESC}[2J${ESC}[H${ESC}]0;pwned\u0007`);
    const { agent: colourful } = await at.run("printf", `${ESC}[1;32mok${ESC}[0m ${ESC}[31mred\\nplain\\n`);
    await at.workspace.runs.wait([colourful]);
    expect(await onTerminal(at, "logs", colourful)).toContain(
      `${ESC}[1;32mok${ESC}[0m ${ESC}[31mred${ESC}[0m\r\nplain\r\n`,
    );
  },
);

it("a pipe gets the bytes as they are, and stderr is for people wherever it goes", async () => {
  const { at, agent } = await stage();
  expect((await at.cli("logs", agent)).stdout).toBe(`${EVIL}\n`);
  const { stderr } = await at.cli("show", EVIL);
  expect(OBEYED.exec(stderr)?.[0]).toBeUndefined();
});
