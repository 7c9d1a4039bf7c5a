/** GitHub's own command line, when it is installed: makes a repository to sync with. */
import { spawn } from "node:child_process";
import { MidwatchError } from "../core/errors.ts";
import { maskText } from "../core/mask/mask.ts";
import { withoutOuterRun } from "./environment.ts";
import { toolVersion } from "./tool.ts";

const PATIENCE_MS = 60_000;

/** A private repository of this name as remote `origin`; undefined without `gh`. Says what it did. */
export async function makeRemote(project: string, name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (toolVersion("gh", "--version", env) === undefined) return undefined;
  const args = ["repo", "create", name, "--private", "--source", project, "--remote", "origin"];
  const { code, said } = await gh(args, project, env);
  if (code === 0) return `made the private repository ${name} with gh, as remote origin`;
  throw new MidwatchError("GIT_FAILED", `gh repo create failed: ${maskText(said).slice(-300)}`, {
    hint: "`gh auth status` tells whether you are logged in; or add a remote yourself.",
  });
}

function gh(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    const child = spawn("gh", args, {
      cwd,
      env: { ...withoutOuterRun(env), GH_PROMPT_DISABLED: "1", GIT_TERMINAL_PROMPT: "0", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        said = `${said}${part}`.slice(-10_000);
      });
    child.once("error", (error) => resolve({ code: null, said: error.message }));
    child.once("close", (code) => resolve({ code, said: said.trim() }));
  });
}
