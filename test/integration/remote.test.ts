import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { WebSocket } from "ws";
import { lab } from "../support/lab.ts";
import { ask, bearer, Follower, sessionOf, startUp, tokenOf } from "../support/net/http.ts";
import { noProxy, type Proxied, startProxied } from "../support/net/proxy.ts";
import { until } from "../support/workspace.ts";

/** One that other machines reach. */
const ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one !== undefined && !one.internal && one.family === "IPv4")?.address;
if (ADDRESS === undefined)
  console.warn("SKIPPED: this machine has no address but loopback. Next: connect it to a network");

it.skipIf(ADDRESS === undefined)(
  "--allow-remote: another machine gets what it has a token for, by address only; nobody else and no other page gets anything",
  async () => {
    const here = lab();
    const up = await startUp(here, "--port", "0", "--host", "0.0.0.0", "--allow-remote");
    // The file and the link are for whoever sits here.
    expect(JSON.parse(readFileSync(join(here.root, "http.json"), "utf8")).url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await here.cli("up", "--link")).code).toBe(0);
    const { port } = new URL(up.url);
    const url = `http://${ADDRESS}:${port}`;
    const token = bearer(tokenOf(here));
    const status = async (path: string, headers: Record<string, string>) => (await ask(url, path, { headers })).status;
    expect(await status("/api/ls", token)).toBe(200);
    expect(await status("/api/ls", {})).toBe(401);
    expect(await status("/api/ls", bearer("0".repeat(64)))).toBe(401);
    expect(await status("/api/ls", { ...token, host: `evil.example:${port}` })).toBe(403);
    expect(await status("/healthz", { host: `evil.example:${port}` })).toBe(403);
    expect(await status("/api/ls", { ...token, host: `${ADDRESS}:1` })).toBe(403);
    expect(await status("/api/ls", { ...token, origin: url })).toBe(200);
    for (const origin of ["http://evil.example", up.url, `https://${ADDRESS}:${port}`])
      expect([origin, await status("/api/ls", { ...token, origin })]).toEqual([origin, 403]);
    const session = sessionOf((await ask(url, new URL(up.link).pathname)).text);
    expect(await status("/api/ls", { ...bearer(session), origin: url })).toBe(200);
    const follower = await new Follower(url, { origin: url }, undefined, ["midwatch", `session.${session}`]).open();
    follower.send({ sub: 1, stream: "fleet" });
    await until(() => follower.of(1).length > 0);
    follower.socket.terminate();
    const stranger = new Follower(url, {});
    await until(() => stranger.refused === 401);
  },
);

it.skipIf(ADDRESS === undefined)(
  "--host with an address of the network: refused without --allow-remote; with it there is no loopback, so no new link, and agents have servers of their own",
  async () => {
    const here = lab();
    const refused = await here.cli("up", "--host", ADDRESS as string, "--port", "0");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--allow-remote")]);
    expect(existsSync(join(here.root, "http.json"))).toBe(false);
    const up = await startUp(here, "--port", "0", "--host", ADDRESS as string, "--allow-remote");
    expect(up.link.startsWith(`http://${ADDRESS}:`)).toBe(true);
    expect((await ask(up.url, "/api/ls", { headers: bearer(tokenOf(here)) })).status).toBe(200);
    expect((await here.cli("up", "--link")).stderr).toContain("NOT_FOUND_SERVER");
  },
);

it.each(["box:8443", "https://box:8443/path", "https://me@box:8443", "ftp://box", "https://", "https://box/?x"])(
  "--public-url takes the address of a server and nothing else: %s",
  async (address) => {
    const { code, stderr } = await lab().cli("up", "--port", "0", "--public-url", address);
    expect([code, stderr]).toEqual([2, expect.stringContaining("https://box:8443")]);
  },
);

it("--public-url: its name and origin count, each only with the other; all others are refused as before", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0", "--public-url", "https://Box:8443/");
  expect(up.link).toMatch(/^https:\/\/box:8443\/login\/[\w-]+$/);
  const { url } = JSON.parse(readFileSync(join(here.root, "http.json"), "utf8"));
  expect((await here.cli("up", "--link")).stdout).toMatch(/https:\/\/box:8443\/login\//);
  const token = bearer(tokenOf(here));
  const { host } = new URL(url);
  for (const [to, origin, expected] of [
    ["box:8443", undefined, 200],
    ["BOX:8443", "https://box:8443", 200],
    [host, url, 200],
    [host, "https://box:8443", 403],
    ["box:8443", url, 403],
    ["box:8443", "http://box:8443", 403],
    ["box:8443", "https://box", 403],
    ["box", undefined, 403],
    ["box:4750", undefined, 403],
    ["evil.example:8443", "https://box:8443", 403],
    ["box:8443", "null", 403],
  ] as const) {
    const headers = { ...token, host: to, ...(origin === undefined ? {} : { origin }) };
    expect([to, origin, (await ask(url, "/api/ls", { headers })).status]).toEqual([to, origin, expected]);
  }
});

it.skipIf(noProxy)(
  "the proxy of docs/http.md, as it stands there: page, login, operations and WebSocket over TLS",
  async () => {
    const here = lab();
    const proxied = await startProxied(here);
    const opened = await over(proxied, new URL(proxied.link).pathname);
    expect(opened.status).toBe(200);
    const session = bearer(sessionOf(opened.text));
    const origin = "https://box:8443";
    expect((await over(proxied, "/api/ls", { headers: { ...session, origin } })).text).toContain('"items":[]');
    expect((await over(proxied, "/api/ls")).status).toBe(401);
    expect((await over(proxied, "/api/ls", { headers: { ...session, origin: proxied.inner } })).status).toBe(403);
    expect((await over(proxied, "/api/ls", { headers: { ...session, host: "evil.example:8443" } })).status).toBe(403);
    const ran = await over(proxied, "/api/run", {
      method: "POST",
      headers: { ...session, origin },
      body: JSON.stringify({ command: ["sh", "-c", "echo hello; exec sleep 60"] }),
    });
    const { agent } = JSON.parse(ran.text).items[0];
    const live = (headers: Record<string, string>) =>
      new WebSocket("wss://box:8443/live", ["midwatch"], { headers, ...atProxy(proxied) });
    const socket = live({ ...session, origin });
    const [text] = await new Promise<string[]>((resolve, reject) => {
      socket.on("open", () => socket.send(JSON.stringify({ sub: 1, stream: "log", agent })));
      socket.on("message", (data) => resolve([data.toString()]));
      socket.on("error", reject);
    });
    expect(text).toContain("hello");
    socket.terminate();
    const stranger = live({ origin });
    const [, { statusCode }] = await once(stranger, "unexpected-response");
    expect(statusCode).toBe(401);
    stranger.on("error", () => undefined);
    stranger.terminate();
    const stopped = await over(proxied, "/api/stop", {
      method: "POST",
      headers: { ...session, origin },
      body: JSON.stringify({ agents: [agent], grace: "0s" }),
    });
    expect(JSON.parse(stopped.text).items[0].verified).toBe(true);
  },
);

/** By its name, at its address, with its certificate. */
function atProxy({ address, certificate }: Proxied) {
  const lookup = (_: string, options: { all?: boolean }, done: (...args: never[]) => void): void =>
    (done as (...args: unknown[]) => void)(null, ...(options.all ? [[{ address, family: 4 }]] : [address, 4]));
  return { ca: certificate, servername: "box", lookup: lookup as never };
}

async function over(
  proxied: Proxied,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; text: string }> {
  const sent = request(`https://box:8443${path}`, { method, headers, agent: false, ...atProxy(proxied) });
  sent.end(body);
  const [answer] = await once(sent, "response");
  let text = "";
  for await (const part of answer) text += part;
  return { status: answer.statusCode, text };
}
