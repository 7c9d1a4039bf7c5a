import { spawnSync } from "node:child_process";

/** The first line a tool prints of its version; undefined when it is not there. */
export function toolVersion(
  command: string,
  flag = "--version",
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const asked = spawnSync(command, [flag], { encoding: "utf8", timeout: 10_000, env });
  return asked.status === 0 ? asked.stdout.split("\n")[0]?.trim() : undefined;
}
