import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Ended, ended, type Lab } from "../support/workspace.ts";

const LONGEST = 1 << 20;
const MARK = "the end of the prompt";

/** A workspace with a driver whose CLI prints what it reads. */
function reads(): Lab {
  const at = lab();
  writeConfig(at.folder, { drivers: { cat: { program: "cat" } } });
  return at;
}

/** `midwatch run --driver cat ARGS < input`, waited for. */
async function run(at: Lab, input: string | Buffer, ...args: string[]): Promise<Ended> {
  const words = ["--workspace", at.root, "run", "--json", "--driver", "cat", "--wait", ...args];
  const child = at.watch(spawn(process.execPath, [CLI, ...words], { cwd: at.folder }));
  child.stdin?.on("error", () => undefined); // It refused before it had read all.
  child.stdin?.end(input);
  return await ended(child);
}

function printed({ code, stdout, stderr }: Ended): string {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return readFileSync(JSON.parse(stdout.split("\n")[0] as string).log, "utf8");
}

it("`run -` takes the prompt from the standard input, however long, and never through argv", async () => {
  const at = reads();
  const long = "word ".repeat(60_000) + MARK;
  expect(printed(await run(at, "Say hello\n", "-"))).toContain("Say hello");
  const log = printed(await run(at, long, "-"));
  expect(log).toContain(long);
  const [newest] = await at.workspace.runs.list();
  const intent = at.intent(newest as Parameters<Lab["intent"]>[0]);
  expect(intent.prompt).toBe(long);
  expect(intent.argv.join(" ")).not.toContain(MARK);
});

it("--prompt-file reads it from a file, byte for byte but the last newline", async () => {
  const at = reads();
  const text = `  Grüße\n\n\`\`\`\n${"x".repeat(200_000)}\n\`\`\`\n`;
  writeFileSync(join(at.folder, "plan.md"), text);
  expect(printed(await run(at, "", "--prompt-file", "plan.md"))).toContain(text.slice(0, -1));
});

it.each<[string, string | Buffer, string[], RegExp]>([
  ["an empty input", "\n", ["-"], /prompt is empty/],
  ["a prompt without end", Buffer.alloc(LONGEST + 1, "x"), ["-"], /longer than 1048576 bytes/],
  ["what is not text", Buffer.from([0xff, 0xfe, 0x41]), ["-"], /not UTF-8/],
  ["a file that is not there", "", ["--prompt-file", "gone.md"], /cannot be read from "gone.md"/],
  ["a folder", "", ["--prompt-file", "."], /cannot be read/],
  ["two prompts", "", ["--prompt-file", "a.md", "Do it"], /not both/],
  ["an input for a CLI that reads its prompt there", "", ["--stdin", "/dev/null", "Do it"], /--stdin is for commands/],
])("%s is refused, with a way out", async (_, input, args, message) => {
  const at = reads();
  const { code, stdout, stderr } = await run(at, input, ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  const { error } = JSON.parse(stderr);
  expect(error.message).toMatch(message);
  expect(error.hint).toBeTruthy();
  expect(await at.workspace.runs.list({ all: true })).toEqual([]);
});

it("the refusal of --stdin names what to use instead", async () => {
  const { stderr } = await midwatch(reads().folder, ["run", "--driver", "cat", "--stdin", "/dev/null", "Do it"]);
  expect(stderr).toContain("--prompt-file");
  expect(stderr).toContain("midwatch run -");
});

it("a prompt that is too long is refused by the library too, before anything is made", async () => {
  const at = reads();
  const prompt = "x".repeat(LONGEST + 1);
  await expect(at.open().runs.start({ driver: "cat", prompt })).rejects.toThrow(/longer than/);
  expect(await at.workspace.runs.list({ all: true })).toEqual([]);
});
