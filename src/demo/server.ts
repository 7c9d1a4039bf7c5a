/** `midwatch up` as a process of its own, which the demo may kill as an accident would. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { startSelf } from "../process/self.ts";

export interface Server {
  link: string;
  port: number;
  pid: number;
  kill(): Promise<void>;
}

const START_MS = 30_000;

/** Undefined when it cannot serve: the demo goes on as text. */
export async function startServer(
  workspace: string,
  env: NodeJS.ProcessEnv,
  port: number,
  signal: AbortSignal,
): Promise<Server | undefined> {
  const child = startSelf(["up", "--json", "--port", String(port), "--workspace", workspace], env);
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  try {
    const given = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
    const first = await Promise.race([once(lines, "line", { signal: given }), ended]);
    lines.on("line", () => {}); // What it tells later has to go somewhere.
    const { link } = JSON.parse(String(first[0])) as { link: string };
    return { link, port: Number(new URL(link).port), pid: child.pid as number, kill };
  } catch {
    await kill();
    return undefined;
  }
}
