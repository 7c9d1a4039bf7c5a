/**
 * From what was asked for to what is executed: the driver makes arguments, environment and input. The same for a start, a
 * restart and a turn of the queue, so that an intent is all that is needed to start a run.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnvFile } from "../core/env-file.ts";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import type { IntentFact, TaskFact } from "../core/intent.ts";
import { fingerprint, secretValues } from "../core/secret-values.ts";
import { SECRETS } from "../disk/layout.ts";
import type { Driver, PrivateFile } from "../drivers/driver.ts";
import { assertTakesMessages } from "../messages/inbox.ts";
import { withoutOuterRun } from "../process/environment.ts";
import { capabilityHash } from "../workspace/caller.ts";
import type { Context } from "../workspace/context.ts";
import { assertCommand, findCommand, midwatchCommand } from "../workspace/find-command.ts";
import { writableFor } from "../worktree/git-folders.ts";
import { briefText } from "./brief.ts";
import { ownServer } from "./own-server.ts";

export interface Composed {
  intent: IntentFact;
  /** Added to the environment; secrets among it, so it is kept nowhere. */
  env: Record<string, string>;
  /** What the agent reads as its input; null when it reads a file of the caller's, or nothing. */
  input: string | null;
  /** The first message of an interactive run; null when it gets none. */
  message: { text: string; driver: Driver } | null;
  /** Written into the run's folder before it starts. */
  files: readonly PrivateFile[];
}

/** `checkedIn` is where a command with a relative path can be looked for: a worktree may still have to be made. */
export function compose(
  context: Context,
  driver: Driver,
  asked: IntentFact,
  task: TaskFact,
  checkedIn: string = asked.cwd,
): Composed {
  const capability = randomBytes(16).toString("hex");
  const intent: IntentFact = { ...asked, capability: capabilityHash(capability) };
  const env: Record<string, string> = {
    ...(asked.env_file === null ? {} : readEnvFile(asked.env_file)),
    MIDWATCH_CAPABILITY: capability,
  };
  if (asked.interactive) assertTakesMessages(driver);
  if (driver.program === null) {
    assertCommand(intent.argv[0] ?? "", checkedIn, env["PATH"] ?? context.env["PATH"] ?? "");
    const message = asked.interactive && asked.prompt !== null ? { text: asked.prompt, driver } : null;
    return { intent, env, input: null, message, files: secretsFile(context, env) };
  }
  assertProgram(driver, env["PATH"] ?? context.env["PATH"] ?? "");
  const words = asked.prompt ?? "";
  const mcp = driver.mcp && asked.mcp !== false ? [ownServer(context, asked.agent, capability)] : [];
  // A session that goes on knows its task already.
  const prompt = asked.resume
    ? words
    : briefText(
        { ...asked, prompt: words, task, midwatch: midwatchCommand(context), mcp: mcp.length > 0 },
        template(context),
      );
  const launch = driver.launch({
    prompt,
    model: asked.model,
    permission: asked.permission,
    cwd: asked.cwd,
    writable: writableFor(context, asked),
    mcp,
    resume: asked.resume ? asked.session : null,
    session: randomUUID(),
    interactive: asked.interactive,
    args: asked.args,
    env: { ...withoutOuterRun(context.env), ...env },
    root: process.getuid?.() === 0,
    folder: context.layout.run(asked.task, asked.agent, asked.run).dir,
  });
  const whole = { ...launch.env, ...env };
  return {
    intent: {
      ...intent,
      argv: [...launch.argv],
      session: launch.session ?? (asked.resume ? asked.session : null),
      stdin: asked.interactive ? null : context.layout.agent(asked.task, asked.agent).prompt,
    },
    env: whole,
    input: launch.stdin,
    message: asked.interactive ? { text: prompt, driver } : null,
    files: [...launch.files, ...secretsFile(context, whole)],
  };
}

/** Fingerprints of the secrets that the run will know, so that they can be hidden where its text leaves. */
function secretsFile({ env }: Context, added: Readonly<Record<string, string>>): PrivateFile[] {
  const values = secretValues({ ...withoutOuterRun(env), ...added });
  return values.length === 0 ? [] : [{ name: SECRETS, content: `${JSON.stringify(fingerprint(values))}\n` }];
}

/** Said before anything is made. */
export function assertProgram(driver: Driver, path: string): void {
  if (driver.program === null || findCommand(driver.program, path) !== undefined) return;
  throw new MidwatchError(
    "COMMAND_NOT_FOUND",
    `The driver ${driver.name} needs ${quote(driver.program)}, which is not on PATH.`,
    {
      hint: driver.install ? `Install it: ${driver.install}` : "Install it, or put it on PATH.",
    },
  );
}

function readEnvFile(path: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new MidwatchError("BAD_PATH", `The environment file ${quote(path)} cannot be read.`, {
      hint: "Check the path and its permissions.",
      cause: error,
    });
  }
  return parseEnvFile(text, path);
}

function template(context: Context): string | undefined {
  const { prompt_template: file } = context.config;
  if (file === "") return undefined;
  const path = resolve(context.layout.root, "..", file);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new MidwatchError("BAD_CONFIG", `prompt_template: ${quote(path)} cannot be read.`, {
      hint: "Paths in midwatch.config.json begin at its folder.",
      cause: error,
    });
  }
}
