/** A command of the caller's own that runs beside us, on our input and output, for as long as it may. */
import { spawn } from "node:child_process";

/** Between the request to end and the end. */
const GRACE_MS = 5000;

export interface BesideOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** When it may not run any more: it is told to end, with all of its process group, and ended after a while. */
  signal: AbortSignal;
}

/** Its exit code; null when a signal ended it. Rejects when it cannot be started. */
export function runBeside(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env, signal }: BesideOptions,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve(null);
    // A group of its own: what it starts is ended with it.
    const child = spawn(program, args, { cwd, env, stdio: "inherit", detached: true });
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      signalGroup(child.pid, "SIGTERM");
      timer = setTimeout(() => signalGroup(child.pid, "SIGKILL"), GRACE_MS);
    };
    signal.addEventListener("abort", end, { once: true });
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    };
    child.once("error", (error) => {
      over();
      reject(error);
    });
    child.once("exit", (code) => {
      over();
      if (signal.aborted) signalGroup(child.pid, "SIGKILL");
      resolve(code);
    });
  });
}

/** A group keeps its number while one of its processes lives, so it is nobody else's. */
function signalGroup(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // All of it has ended.
  }
}
