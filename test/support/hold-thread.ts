/** Keeps the sync thread of a keeper from ending, as a busy disk or a starved core would (zoo/hold-thread.c). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ProcessIdentity } from "../../src/core/types.ts";
import type { Lab } from "./workspace.ts";
import { until } from "./workspace.ts";
import { compiled } from "./zoo.ts";

export interface HeldThread {
  /** Whether the thread wanted to end and is kept from it. */
  isHeld(): boolean;
  /** Lets it end. */
  release(): Promise<void>;
}

export async function holdThread(at: Lab, { pid }: ProcessIdentity): Promise<HeldThread> {
  await until(() => threadsOf(pid) > 1, 5000, "the keeper has its second thread");
  const holder = at.watch(spawn(compiled("hold-thread"), [String(pid)], { stdio: ["ignore", "pipe", "inherit"] }));
  const said: string[] = [];
  createInterface({ input: holder.stdout as NodeJS.ReadableStream }).on("line", (line) => said.push(line));
  await until(() => said.includes("ready") || holder.exitCode !== null, 5000, "the thread is watched");
  if (holder.exitCode !== null) throw new Error("the thread cannot be held: ptrace is not allowed here");
  return {
    isHeld: () => said.includes("held"),
    release: async () => {
      const gone = once(holder, "exit");
      holder.kill("SIGKILL");
      await gone;
    },
  };
}

export function threadsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[17]);
}
