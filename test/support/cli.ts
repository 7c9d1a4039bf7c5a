import { PassThrough } from "node:stream";
import { main } from "../../src/doors/cli/main.ts";

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command in this process, as a terminal in `cwd` would. */
export async function midwatch(
  cwd: string,
  argv: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<CliResult> {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const collect = async (stream: PassThrough): Promise<string> => Buffer.concat(await stream.toArray()).toString();
  const texts = [collect(streams.stdout), collect(streams.stderr)];
  const code = await main(argv, { ...streams, env, cwd });
  streams.stdout.end();
  streams.stderr.end();
  const [stdout = "", stderr = ""] = await Promise.all(texts);
  return { code, stdout, stderr };
}
