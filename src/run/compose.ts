/**
 * From what was asked for to what is executed: the driver makes arguments, environment and input. The same for a start, a
 * restart and a turn of the queue, so that an intent is all that is needed to start a run.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnvFile } from "../core/env-file.ts";
import { type ErrorCode, MidwatchError } from "../core/errors.ts";
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
import { withOwnCommand } from "../workspace/own-command.ts";
import { provenServer } from "../workspace/server-proof.ts";
import { writableFor } from "../worktree/git-folders.ts";
import { briefText } from "./brief.ts";
import { type Composed, composedOf, type Request } from "./launch-plan.ts";
import { ownServer } from "./own-server.ts";

/** `checkedIn` is where a command with a relative path can be looked for: a worktree may still have to be made. */
export async function compose(
  context: Context,
  driver: Driver,
  asked: IntentFact,
  task: TaskFact,
  checkedIn: string = asked.cwd,
): Promise<Composed> {
  const capability = randomBytes(16).toString("hex");
  const intent: IntentFact = { ...asked, capability: capabilityHash(capability) };
  const given = asked.env_file === null ? {} : readEnvFile(asked.env_file);
  const callers = given["PATH"] ?? context.env["PATH"];
  const own = withOwnCommand(context, callers);
  const path = own ?? callers ?? "";
  const env: Record<string, string> = {
    ...given,
    ...(own === undefined ? {} : { PATH: own }),
    MIDWATCH_CAPABILITY: capability,
  };
  if (asked.interactive) assertTakesMessages(driver);
  if (driver.program === null) assertCommand(intent.argv[0] ?? "", checkedIn, path);
  else assertProgram(driver, path);
  const prompt = asked.prompt ?? "";
  const wantsMcp = driver.mcp && asked.mcp !== false;
  const server = wantsMcp ? await provenServer(context) : undefined;
  const midwatch = own === undefined ? midwatchCommand(context) : "midwatch";
  const request = (): Request => {
    const mcp = wantsMcp ? [ownServer(context, server, asked.agent, capability)] : [];
    const brief = (): string => briefText({ ...asked, prompt, task, midwatch, mcp: mcp.length > 0 }, template(context));
    return {
      prompt: asked.resume ? prompt : brief(), // A session that goes on knows its task already.
      writable: writableFor(context, asked),
      mcp,
      session: randomUUID(),
      env: { ...withoutOuterRun(context.env), ...env },
      root: process.getuid?.() === 0,
      folder: context.layout.run(asked.task, asked.agent, asked.run).dir,
    };
  };
  const composed = composedOf(driver, intent, env, request, context.layout.agent(asked.task, asked.agent).prompt);
  return { ...composed, files: [...composed.files, ...secretsFile(context, composed.env)] };
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
  const what = `The environment file ${quote(path)}`;
  return parseEnvFile(textOf(path, "BAD_PATH", what, "Check the path and its permissions."), path);
}

function template(context: Context): string | undefined {
  const { prompt_template: file } = context.config;
  if (file === "") return undefined;
  const path = resolve(context.layout.root, "..", file);
  const hint = "Paths in midwatch.config.json begin at its folder.";
  return textOf(path, "BAD_CONFIG", `prompt_template: ${quote(path)}`, hint);
}

function textOf(path: string, code: ErrorCode, what: string, hint: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new MidwatchError(code, `${what} cannot be read.`, { hint, cause: error });
  }
}
