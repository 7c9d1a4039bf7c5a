/**
 * The command line. `main` reads as the flow: find the operation, read its flags, run it, print what it gave. It has no
 * rules of its own; names, flags and help come from the operations.
 */
import { MidwatchError, toMidwatchError } from "../../core/errors.ts";
import { isFields } from "../../core/json.ts";
import { maskText } from "../../core/mask/mask.ts";
import { didYouMean, nearest } from "../../core/nearest.ts";
import { terminalText } from "../../core/text/terminal-text.ts";
import { operations as all } from "../../operations/index.ts";
import { type Context, isStream, type Operation, usage } from "../../operations/operation.ts";
import { pruneShare } from "../../operations/share.ts";
import { midwatchVersion } from "../../operations/version.ts";
import { complete } from "./complete.ts";
import { commandHelp, overview, welcome } from "./help.ts";
import { LiveLines } from "./live.ts";
import { type Out, Output } from "./output.ts";
import { parse, validate } from "./parse.ts";

export interface Io {
  stdout: Out;
  stderr: Out;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborted when the user asks to end. */
  signal?: AbortSignal;
  /** Asks the person at the terminal; missing where nobody sits at one. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

/** Runs one command and returns its exit code. Never throws. */
export async function main(argv: readonly string[], io: Io, table: readonly Operation[] = all): Promise<number> {
  const json = behindFlags(argv).includes("--json");
  const out = new Output(io.stdout, useColor(io));
  try {
    const code = await dispatch(argv, io, out, table).catch(async (error: unknown) => {
      if (json || !(await tookOver(error, io))) throw error;
      return await dispatch(argv, io, out, table);
    });
    await out.flush();
    if (out.failure !== undefined) throw out.failure;
    return code;
  } catch (thrown) {
    if (out.gone.aborted && out.failure === undefined) return 0;
    const error = out.failure ?? toMidwatchError(thrown);
    say(io, maskText(json ? `${JSON.stringify({ error })}\n` : explain(error)));
    return error.exitCode;
  } finally {
    await out.close();
  }
}

/** A workspace that an older release made is not recorded yet: at a terminal one answer takes it over, a script gets the error. */
async function tookOver(error: unknown, io: Io): Promise<boolean> {
  if (!(error instanceof MidwatchError) || error.code !== "REFUSED_WORKSPACE" || io.ask === undefined) return false;
  const { root, old } = error.data ?? {};
  if (old !== true || typeof root !== "string") return false;
  const trust = async (...flags: string[]): Promise<number> =>
    await main(["trust", `--workspace=${root}`, ...flags], { ...io, stdout: io.stderr, ask: undefined });
  await trust("--show");
  const answer = await io.ask("It was made by an older release, or somewhere else. Take it over? [y/N] ");
  return /^y(es)?$/i.test(answer.trim()) && (await trust()) === 0;
}

async function dispatch(
  argv: readonly string[],
  io: Io,
  out: Output,
  operations: readonly Operation[],
): Promise<number> {
  if (argv[0] === "__complete") {
    await out.write(complete(argv.slice(1), operations, io));
    return 0;
  }
  const color = useColor(io);
  const bold = (text: string): string => (color ? `\u001b[1m${text}\u001b[22m` : text);
  // Lines for people: no longer than they can be read, and endless where a program searches them.
  const width = io.stdout.isTTY === true ? Math.min(io.stdout.columns ?? 80, 110) : Number.POSITIVE_INFINITY;
  const { before, words } = splitCommand(argv);
  const asksHelp = before.includes("--help") || before.includes("-h");
  const alone = words.length === 0 && !before.includes("--version");
  const command = words[0] ?? (alone ? (operations.some(({ name }) => name === ALONE) ? ALONE : "help") : "version");
  if (command === "help" || asksHelp) {
    const topic = command === "help" ? words.slice(1) : words;
    const text =
      topic.length === 0 ? overview(operations, bold, width) : commandHelp(find(topic, operations), bold, width);
    await out.write(text);
    return 0;
  }
  const operation = find(words.length === 0 ? [command] : words, operations);
  const behind = words.slice(operation.name.split(" ").length);
  const rest = operation.name === "trust" ? takingOver(behind) : behind;
  const { globals, input } = parse(operation, [...before.filter((word) => word !== "--version"), ...rest]);
  if (globals.help) {
    await out.write(commandHelp(operation, bold, width));
    return 0;
  }
  // With --json an error is the only thing on stderr, so notices wait for success.
  const notices: string[] = [];
  const live = io.stderr.isTTY === true && !globals.json ? new LiveLines(io.stderr) : undefined;
  const context: Context = {
    door: "cli",
    cwd: io.cwd,
    env: io.env,
    workspace: globals.workspace,
    serve: async (workspace, options) => (await import("../http/serve.ts")).serve(workspace, options),
    async answerFleet(workspace, { tell }) {
      await (await import("../nats/answer.ts")).answer(workspace, { tell, signal: this.signal, env: io.env });
    },
    json: globals.json,
    terminal: io.stdout.isTTY === true,
    // Asked for only by operations that end when they are told to; see `start`.
    get signal() {
      return AbortSignal.any([out.gone, ...(io.signal === undefined ? [] : [io.signal])]);
    },
    async serveMcp() {
      const { serveOnStdio } = await import("../mcp/stdio.ts");
      await serveOnStdio({ ...io, workspace: globals.workspace }, midwatchVersion(), this.signal);
    },
    progress: (text) => showProgress(io, text),
    live,
    notice(text) {
      live?.clear();
      if (globals.json) notices.push(text);
      else tell(io, text);
    },
  };
  const asked = await validate(operation, input);
  let answer: unknown;
  try {
    answer = await operation.run(context, asked);
  } catch (error) {
    if (!(alone && globals.workspace === undefined && isMissingWorkspace(error)) || globals.json) throw error;
    await out.write(welcome(bold));
    return 0;
  }
  showProgress(io, "");
  out.raw = isFields(asked) && asked["raw"] === true;
  const code = await print(operation, answer, { io, out, asked, json: globals.json, color });
  await pruneShare(context, operation);
  for (const text of notices) tell(io, text);
  return code;
}

/** What `midwatch` without a word does, where there is a workspace. */
const ALONE = "status";

function isMissingWorkspace(error: unknown): boolean {
  return error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE";
}

interface Printing {
  io: Io;
  out: Output;
  asked: unknown;
  json: boolean;
  color: boolean;
}

/** Prints data or each item of a stream, and returns the exit code. */
async function print(operation: Operation, answer: unknown, printing: Printing): Promise<number> {
  const { io, out, json } = printing;
  let code = 0;
  let last: unknown;
  for await (const data of isStream(answer) ? answer : [answer]) {
    if (out.gone.aborted) return code;
    last = data;
    await out.write(shown(operation, data, printing));
    code = Math.max(code, operation.exitCode?.(data, printing.asked) ?? 0);
  }
  await out.flush();
  const next = json ? undefined : operation.next?.(last);
  if (next !== undefined && !out.gone.aborted) say(io, `Next: ${next}\n`);
  return code;
}

function shown(operation: Operation, data: unknown, { io, json, color }: Printing): string | Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (data === undefined) return "";
  if (json || operation.render === undefined) {
    return (Array.isArray(data) ? data : [data]).map((item) => `${JSON.stringify(item)}\n`).join("");
  }
  const text = operation.render(data, { color, width: io.stdout.columns ?? 80, fit: io.stdout.isTTY === true });
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Splits the global flags before the command from the command and what follows it. */
function splitCommand(argv: readonly string[]): { before: string[]; words: string[] } {
  let i = 0;
  while (i < argv.length && argv[i]?.startsWith("-") === true) i += argv[i] === "--workspace" ? 2 : 1;
  const before = argv.slice(0, i);
  const unknown = before.find((word, at) => !isGlobal(word) && before[at - 1] !== "--workspace");
  if (unknown !== undefined) {
    const otherwise = "Flags of a command come behind its name: midwatch COMMAND --flag.";
    const hint = didYouMean(unknown, ["--json", "--workspace", "--help", "--version"], otherwise);
    throw usage(`${unknown} is not a flag of midwatch.`, hint);
  }
  return { before, words: argv.slice(i) };
}

function isGlobal(word: string): boolean {
  return ["--json", "--help", "-h", "--version", "--workspace"].includes(word) || word.startsWith("--workspace=");
}

/** An operation's name may have two words (`jsonl tail`). */
function find(words: readonly string[], operations: readonly Operation[]): Operation {
  const [first = "", second = ""] = words;
  const found =
    operations.find(({ name }) => name === `${first} ${second}`) ?? operations.find(({ name }) => name === first);
  if (found !== undefined) return found;
  const below = operations.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  const typed = below.length > 0 ? `${first} ${second}`.trim() : first;
  const near = nearest(typed, below.length > 0 ? below : operations.map(({ name }) => name));
  const choices = below.length > 0 ? `There are: ${below.join(", ")}.` : "`midwatch help` lists the commands.";
  throw new MidwatchError("USAGE", `${JSON.stringify(typed)} is not a command.`, {
    hint: near === undefined ? choices : `Did you mean \`midwatch ${near}\`? ${choices}`,
  });
}

/** `trust --workspace`: to this command the flag of all commands is the question itself; a DIR behind it says which one. */
function takingOver(words: readonly string[]): string[] {
  return words.flatMap((word, i) => {
    if (word.startsWith("--workspace=")) return ["--take-over", word];
    if (word !== "--workspace") return [word];
    const next = words[i + 1];
    return next === undefined || next.startsWith("-") ? ["--take-over"] : ["--take-over", word];
  });
}

/** The words up to `--`: what follows belongs to another program. */
function behindFlags(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end === -1 ? argv : argv.slice(0, end);
}

/** One line that is written over; on a terminal only. */
function showProgress({ stderr }: Io, text: string): void {
  if (stderr.isTTY === true) stderr.write(`\r\u001b[K${terminalText(text, false)}`);
}

function tell(io: Io, text: string): void {
  say(io, `midwatch: ${text}\n`);
}

/** What stands on stderr is for people, wherever it goes. */
function say({ stderr }: Io, text: string): void {
  stderr.write(terminalText(text, false));
}

function explain(error: MidwatchError): string {
  const lines = [`midwatch: ${error.message} [${error.code}]`];
  if (error.hint !== undefined) lines.push(`  Next: ${error.hint}`);
  if (error.code === "INTERNAL" && error.cause instanceof Error && error.cause.stack) lines.push(error.cause.stack);
  return `${lines.join("\n")}\n`;
}

function useColor({ stdout, env }: Io): boolean {
  return stdout.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/**
 * The process around `main`: its streams, its signals, its exit code. A signal ends the process at once, as the system does it;
 * only an operation that asks for the signal gets a moment to clean up. Further signals do not shorten it: one signal often comes
 * twice, to the process group and through a parent that passes it on. SIGQUIT (Ctrl-\) still ends it at once.
 */
export async function start(table?: readonly Operation[]): Promise<never> {
  const { stdout, stderr, env } = process;
  // A reader of stderr that has gone is no reason to fail.
  stderr.on("error", () => {});
  let ended: number | undefined;
  let ending: AbortController | undefined;
  const io: Io = {
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    ask: process.stdin.isTTY && stderr.isTTY ? askPerson : undefined,
    get signal() {
      if (ending === undefined) {
        const controller = new AbortController();
        ending = controller;
        for (const [signal, code] of Object.entries(ASKED_TO_END)) {
          process.on(signal, () => {
            if (ended !== undefined) return;
            ended = code;
            controller.abort();
            setTimeout(() => process.exit(code), CLEAN_UP_MS).unref();
          });
        }
      }
      return ending.signal;
    },
  };
  const code = await main(process.argv.slice(2), io, table);
  process.exit(ended ?? code);
}

async function askPerson(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await asking.question(question);
  } finally {
    asking.close();
  }
}

/** Ctrl-C, a supervisor, a closed terminal: the exit code of each. */
const ASKED_TO_END = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/** A demo has agents to stop, and a busy machine takes its time. */
const CLEAN_UP_MS = 60_000;
