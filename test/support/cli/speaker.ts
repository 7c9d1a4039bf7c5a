/** A stand-in for Claude Code on PATH: prints these lines and then does what a shell script says. Gives the environment to open with. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function speaker(folder: string, lines: readonly object[], then = "sleep 60"): NodeJS.ProcessEnv {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const text = lines.map((line) => `printf '%s\\n' '${JSON.stringify(line)}'`).join("\n");
  writeFileSync(join(bin, "claude"), `#!/bin/sh\n${text}\n${then}\n`, { mode: 0o755 });
  return { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
}
