/** Clients without a token that ask for a WebSocket and reset the connection, each at another moment. No vitest in here. */
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { until } from "../workspace.ts";
import { ask, type Up } from "./http.ts";

const AT_ONCE = 50;
const SETTLE_MS = 30_000;

export interface Resets {
  faults: string[];
  /** Open sockets of the server before and after. */
  before: number;
  after: number;
}

/** Works on a server in a process of its own: what ends it must not end the test. */
export async function resetUpgrades({ url, pid }: Up, count: number): Promise<Resets> {
  const { hostname, port, host } = new URL(url);
  const before = sockets(pid);
  let left = count;
  const lane = async (): Promise<void> => {
    for (let i = left--; i > 0; i = left--) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => undefined);
      const closed = once(socket, "close");
      await once(socket, "connect");
      const head = `GET ${i % 2 ? "/live" : "/other"} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
      socket.write(i % 5 === 0 ? head : `${head}\r\n`);
      if (i % 3 === 0 && i % 5 !== 0) await Promise.race([once(socket, "data"), closed]);
      else if (i % 3 === 1) await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
      await closed;
    }
  };
  const faults: string[] = [];
  await Promise.all(Array.from({ length: AT_ONCE }, () => lane().catch((error) => faults.push(String(error)))));
  const alive = (await ask(url, "/healthz").catch(() => undefined))?.status === 200;
  if (!alive) return { faults: [...faults, "the server is gone"], before, after: 0 };
  await until(() => sockets(pid) <= before, SETTLE_MS).catch(() => faults.push("sockets are left open"));
  return { faults: faults.slice(0, 5), before, after: sockets(pid) };
}

/** Files come and go with the rounds of `up`; what a connection holds is a socket. */
export function sockets(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((name) => linkOf(`/proc/${pid}/fd/${name}`).startsWith("socket:"))
    .length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // Closed meanwhile.
  }
}
