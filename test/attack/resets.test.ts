import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { lab } from "../support/lab.ts";
import { ask, bearer, startUp, tokenOf, wire } from "../support/net/http.ts";
import { sockets } from "../support/net/reset-upgrades.ts";
import { until } from "../support/workspace.ts";

interface Phase {
  name: string;
  /** What the client has sent when it goes. */
  sent: string | Buffer;
  /** It goes when this much has come back. */
  heard?: RegExp;
  /** It takes nothing of what comes. */
  deaf?: true;
}

/** Each state that a connection can be in. */
function phases(host: string, token: string, agent: string): Phase[] {
  const auth = `Authorization: Bearer ${token}\r\n`;
  const head = (line: string, more = ""): string => `${line} HTTP/1.1\r\nHost: ${host}\r\n${more}`;
  const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\n`;
  const frame = (text: string): Buffer =>
    Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
  const live = Buffer.from(head("GET /live", `${auth}${upgrade}\r\n`));
  const log = frame(JSON.stringify({ sub: 1, stream: "log", agent }));
  return [
    { name: "nothing said", sent: "" },
    { name: "in the first word", sent: "GE" },
    { name: "in the head", sent: head("GET /healthz", "X-A") },
    { name: "behind an answer", sent: head("GET /healthz", "\r\n"), heard: /200 OK/ },
    { name: "behind a refusal", sent: head("GET /api/ls", "\r\n"), heard: /401/ },
    { name: "before a body", sent: head("POST /api/task", `${auth}Content-Length: 100\r\n\r\n`) },
    {
      name: "before a body that waits for leave",
      sent: head("POST /api/task", `${auth}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`),
      heard: /100/,
    },
    { name: "in a body", sent: head("POST /api/task", `${auth}Content-Length: 100\r\n\r\n{"a`) },
    { name: "in a chunk", sent: head("POST /mcp", `${auth}Transfer-Encoding: chunked\r\n\r\nff\r\nabc`) },
    { name: "while it waits for an answer", sent: head(`GET /api/logs?agent=${agent}&follow=true`, `${auth}\r\n`) },
    {
      name: "while it does not read an answer",
      sent: head(`GET /api/logs?agent=${agent}&lines=1000`, `${auth}\r\n`).repeat(20),
      deaf: true,
    },
    { name: "with a second question behind the first", sent: head("GET /healthz", "\r\n") + head("GET /api/ls", auth) },
    { name: "in an upgrade", sent: head("GET /live", `${auth}${upgrade}`) },
    { name: "behind a refused upgrade", sent: head("GET /live", `${upgrade}\r\n`), heard: /401/ },
    { name: "before a refusal of an upgrade is read", sent: head("GET /other", `${upgrade}\r\n`), deaf: true },
    { name: "behind an upgrade", sent: live, heard: /101/ },
    { name: "in a frame", sent: Buffer.concat([live, log.subarray(0, 9)]), heard: /101/ },
    { name: "while it follows", sent: Buffer.concat([live, log]), heard: /cursor/ },
    { name: "while it follows and does not read", sent: Buffer.concat([live, log]), deaf: true },
    { name: "by another method", sent: head("CONNECT x:1", "\r\n") },
    { name: "as TLS", sent: Buffer.from("16030100c8010000c40303", "hex") },
    { name: "as noise", sent: Buffer.alloc(300, 0xff) },
  ];
}

const LEAVE: Readonly<Record<string, (socket: Socket) => void>> = {
  "resets the connection": (socket) => socket.resetAndDestroy(),
  "ends its half": (socket) => socket.end(),
  "goes without a word": (socket) => socket.destroy(),
};

it.each(Object.keys(LEAVE))(
  "a client that %s in any phase neither ends the server nor leaves a socket open",
  async (how) => {
    const here = lab();
    const { agent } = await here.sh(`yes '${"x".repeat(1000)}' | head -n 5000; exec sleep 100`);
    const up = await startUp(here, "--port", "0");
    let said = "";
    up.child.stderr?.on("data", (part) => (said += part));
    const token = tokenOf(here);
    const before = sockets(up.pid);
    const { host } = new URL(up.url);
    for (const { name, sent, heard, deaf } of phases(host, token, agent)) {
      const socket = await wire(up.url, true);
      if (deaf) socket.pause();
      await new Promise((resolve) => socket.write(sent, resolve));
      if (heard) await until(() => heard.test(socket.received()), 10_000, name);
      LEAVE[how]?.(socket);
      expect([name, (await ask(up.url, "/healthz")).status]).toEqual([name, 200]);
      // Who ended its half still gets its answer; then it goes.
      socket.resume();
      if (!socket.destroyed) socket.once("end", () => socket.destroy());
      if (how === "ends its half") setTimeout(() => socket.destroy(), 1000).unref();
      if (!socket.closed) await once(socket, "close");
    }
    await until(() => sockets(up.pid) <= before, 30_000, "all sockets of the server are closed");
    expect((await ask(up.url, "/api/ls", { headers: bearer(token) })).status).toBe(200);
    expect(said).toBe("");
  },
);
