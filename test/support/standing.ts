import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readProcess } from "../../src/process/identity.ts";
import type { LaunchStep } from "../../src/workspace/context.ts";
import { type Lab, supportFile, until } from "./workspace.ts";

export const STEPS: readonly LaunchStep[] = ["reserved", "folders", "active", "intent", "answered"];

export interface Launcher {
  child: ChildProcess;
  /** Goes on; gives what came of the launch. */
  go(): Promise<{ phase?: string; error?: { code: string } }>;
}

/** A launcher in a process of its own that stands still at a step. */
export async function standing(at: Lab, step: LaunchStep, ...order: string[]): Promise<Launcher> {
  const child = at.node(supportFile("worker/launch-at.ts"), at.root, step, ...order);
  await until(() => readProcess(child.pid ?? 0)?.state === "T", 10_000, `stopped at ${step}`);
  const go = async (): Promise<{ phase?: string; error?: { code: string } }> => {
    const told = once(child, "message");
    child.kill("SIGCONT");
    const [message] = await told;
    await once(child, "exit");
    return message;
  };
  return { child, go };
}
