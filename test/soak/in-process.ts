/** One campaign in a process of its own; one that needs it has a network of its own too, where that is allowed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ownNetwork } from "../support/nats/lan.ts";
import type { Report } from "./report.ts";

const RUN = fileURLToPath(new URL("run.ts", import.meta.url));

export async function inProcess(name: string, count: number, seed: number): Promise<Report> {
  const network = name === "fleetChaos" ? ownNetwork() : undefined;
  const command = [process.execPath, RUN, "--one", name, String(count), String(seed)];
  const [program = "", ...args] = [...(network?.via ?? []), ...command];
  const child = spawn(program, args, {
    env: { ...process.env, ...network?.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (part) => {
    text += part;
  });
  await once(child, "close");
  try {
    return JSON.parse(text.trim().split("\n").at(-1) ?? "") as Report;
  } catch {
    return { name, count, seed, failures: [`gave no report: ${text.slice(-500)}`], figures: {}, tookMs: 0 };
  }
}
