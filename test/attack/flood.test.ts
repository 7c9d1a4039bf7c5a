import { expect, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/doors/http/limits.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { lab } from "../support/lab.ts";
import { flood } from "../support/net/flood.ts";
import { ask, bearer, Follower, startUp, tokenOf, wire } from "../support/net/http.ts";
import { until } from "../support/workspace.ts";

it("agents hold every request and socket they are given, strangers 1,024 idle connections: a person's stops and page are served", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0");
  const held = await flood(here, up);
  onTestFinished(() => held.end());
  // One agent asked for all of it first, and got its share.
  expect(held.follows).toEqual({ held: 64, refused: 64 });
  expect(held.sockets).toEqual({ held: 512, refused: 512 });
  const headers = bearer(tokenOf(here));
  for (let i = 0; i < 5; i++) {
    const { agent } = await here.run("sleep", "60");
    const body = JSON.stringify({ agents: [agent], grace: "0s" });
    const stopped = await ask(up.url, "/api/stop", { method: "POST", headers, body });
    expect([stopped.status, stopped.json.items]).toEqual([200, [expect.objectContaining({ agent, verified: true })]]);
    expect((await ask(up.url, "/")).status).toBe(200);
    expect((await ask(up.url, "/api/ls", { headers })).status).toBe(200);
  }
  const page = await new Follower(up.url, headers).open();
  page.send({ sub: 1, stream: "fleet" });
  await until(() => page.of(1).length > 0);
  page.socket.terminate();
  await until(() => held.closed() > 0, undefined, "strangers make room");
});

it("clients that ask for something that lasts and go in any phase of it give their places back", async () => {
  const here = lab();
  const { agent } = await here.run("sleep", "60");
  const one = { each: 1, agents: 1, people: 1 };
  const served = await serve(here.workspace, {
    host: "127.0.0.1",
    port: 0,
    allowRemote: false,
    tell: () => undefined,
    limits: { answerMs: 100, perCaller: { ...LIMITS.perCaller, requests: one, follows: one, mcp: one, sockets: one } },
  });
  onTestFinished(() => served.close());
  const { host } = new URL(served.url);
  const headers = bearer(tokenOf(here));
  const auth = `Host: ${host}\r\nAuthorization: ${headers["authorization"]}\r\n`;
  const body = JSON.stringify({ agent, follow: true });
  const asked = `POST /api/logs HTTP/1.1\r\n${auth}Content-Length: ${body.length}\r\n\r\n${body}`;
  const upgrade = `GET /live HTTP/1.1\r\n${auth}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
  for (const sent of [asked, upgrade, `GET /mcp HTTP/1.1\r\n${auth}Accept: text/event-stream\r\n\r\n`]) {
    for (let cut = 0; cut < 10; cut++) {
      const socket = await wire(served.url);
      await new Promise((resolve) => socket.write(sent.slice(0, sent.length - cut), resolve));
      if (cut % 2 === 1) await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
    }
  }
  const status = async () => (await ask(served.url, "/api/logs", { method: "POST", headers, body })).status;
  await until(async () => (await status()) === 200);
  await until(async () => {
    const follower = new Follower(served.url, headers);
    await until(() => follower.socket.readyState === 1 || follower.refused !== undefined);
    follower.socket.terminate();
    return follower.refused === undefined;
  });
});

it("strangers fill the connections: who said nothing for longest goes, who is known stays, and a new one is let in", async () => {
  const here = lab();
  const served = await serve(here.workspace, {
    host: "127.0.0.1",
    port: 0,
    allowRemote: false,
    tell: () => undefined,
    limits: { connections: 6 },
  });
  onTestFinished(() => served.close());
  const { host } = new URL(served.url);
  const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
  const known = await wire(served.url);
  known.write(get("/api/version", `Authorization: Bearer ${tokenOf(here)}\r\n`));
  await until(() => known.received().includes("200 OK"));
  const strangers: Awaited<ReturnType<typeof wire>>[] = [];
  for (let i = 0; i < 5; i++) strangers.push(await wire(served.url));
  // The first one says something, though nothing that tells who it is.
  strangers[0]?.write(get("/healthz"));
  await until(() => strangers[0]?.received().includes("200 OK"));
  const late = [await wire(served.url), await wire(served.url)];
  for (const socket of late) {
    socket.write(get("/healthz"));
    await until(() => socket.received().includes("200 OK"));
  }
  await until(() => [strangers[1], strangers[2]].every((socket) => socket?.destroyed));
  expect([known, ...strangers].map(({ destroyed }) => destroyed)).toEqual([false, false, true, true, false, false]);
  for (const socket of [known, ...strangers, ...late]) socket.destroy();
});
