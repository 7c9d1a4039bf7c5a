import { existsSync, globSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { supportFile } from "../workspace.ts";

const LIBRARY = globSync("/usr/lib/*/faketime/libfaketime.so.1").find((path) => existsSync(path));

export interface Clock {
  /** What sets it: libfaketime where it is installed, else a preload that shifts Date.now at every call. */
  by: string;
  execArgv: string[];
  env: NodeJS.ProcessEnv;
  /** From now on the wall clock of the process is this much wrong. The preload jumps all the time by itself. */
  set(jumpMs: number): void;
}

/** The wall clock of a process that is about to start; its monotonic clock stays right. */
export function clockOf(folder: string, name: string, jumps: readonly number[]): Clock {
  const file = join(folder, `clock-${name}`);
  const set = (jumpMs: number): void => writeFileSync(file, `${jumpMs < 0 ? "-" : "+"}${Math.abs(jumpMs) / 1000}s\n`);
  set(0);
  if (LIBRARY === undefined) {
    const preload = pathToFileURL(supportFile("fault/set-clock.ts")).href;
    return { by: "preload", execArgv: ["--import", preload], env: { CLOCK_JUMPS_MS: jumps.join() }, set };
  }
  const env = {
    LD_PRELOAD: LIBRARY,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  return { by: "libfaketime", execArgv: [], env, set };
}
