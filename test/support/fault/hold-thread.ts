/** Keepers that are kept from going on, by ptrace: their sync thread at its end (zoo/hold-thread.c), or the whole process (zoo/stand.c). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ProcessIdentity } from "../../../src/core/types.ts";
import type { Lab } from "../workspace.ts";
import { until } from "../workspace.ts";
import { compiled } from "./zoo.ts";

export interface HeldThread {
  /** Whether the thread wanted to end and is kept from it. */
  isHeld(): boolean;
  /** Lets it end. */
  release(): Promise<void>;
}

export async function holdThread(at: Lab, { pid }: ProcessIdentity): Promise<HeldThread> {
  await until(() => threadsOf(pid) > 1, 5000, "the keeper has its second thread");
  const { said, end } = await traced(at, "hold-thread", pid, "ready");
  return { isHeld: () => said.includes("held"), release: end };
}

/** Stands still until it is killed; no SIGCONT makes it go on. */
export async function makeStand(at: Lab, { pid }: ProcessIdentity): Promise<void> {
  await traced(at, "stand", pid, "standing");
}

async function traced(
  at: Lab,
  program: string,
  pid: number,
  ready: string,
): Promise<{ said: string[]; end(): Promise<void> }> {
  const tracer = at.watch(spawn(compiled(program), [String(pid)], { stdio: ["ignore", "pipe", "inherit"] }));
  const said: string[] = [];
  createInterface({ input: tracer.stdout as NodeJS.ReadableStream }).on("line", (line) => said.push(line));
  await until(() => said.includes(ready) || tracer.exitCode !== null, 5000, `${program} says ${ready}`);
  if (!said.includes(ready)) throw new Error(`${program} failed: is ptrace allowed here?`);
  const end = async (): Promise<void> => {
    const gone = once(tracer, "exit");
    tracer.kill("SIGKILL");
    await gone;
  };
  return { said, end };
}

function threadsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[17]);
}
