/**
 * One at a time, over all processes of this machine, by a lock that the kernel gives up with its holder: an abstract socket's name
 * belongs to one listener, is no file that somebody could swap, and is never left behind.
 */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Whoever holds it longer stands still: what is done under it must be harmless when it is done twice. */
const WAIT_MS = 20_000;
const PAUSE_MS = 3;

/** Abstract sockets are Linux only; elsewhere nobody waits. */
export async function alone<T>(name: string, act: () => T | Promise<T>): Promise<T> {
  const held = process.platform === "linux" ? await take(name) : undefined;
  try {
    return await act();
  } finally {
    await new Promise((resolve) => (held === undefined ? resolve(undefined) : held.close(resolve)));
  }
}

async function take(name: string): Promise<Server | undefined> {
  const path = `\0midwatch-${createHash("sha256").update(name).digest("hex")}`;
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await sleep(PAUSE_MS)) {
    const held = await listen(path);
    if (held !== "taken") return held;
  }
  return undefined;
}

/** Undefined where there can be no such lock (no descriptor left, say). */
function listen(path: string): Promise<Server | "taken" | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE" ? "taken" : undefined));
    server.listen(path, () => resolve(server));
  });
}
