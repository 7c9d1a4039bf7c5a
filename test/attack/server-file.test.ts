import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import { readProcess } from "../../src/process/identity.ts";
import { lab } from "../support/lab.ts";
import { ask, tokenOf } from "../support/net/http.ts";
import { Puppets } from "../support/puppet.ts";
import type { Lab } from "../support/workspace.ts";

/** A server of an agent's that notes what it is sent. */
async function thief(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push([request.method, request.url, ...request.rawHeaders].join(" "));
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function announce(here: Lab, url: string): void {
  const { start_ticks } = readProcess(process.pid) ?? {};
  const fact = { url, pid: process.pid, start_ticks, started_at: new Date().toISOString() };
  writeFileSync(join(here.root, "http.json"), `${JSON.stringify(fact)}\n`);
}

async function served(here: Lab) {
  const server = await serve(here.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => server.close());
  return server;
}

const LINK = JSON.stringify({ link: "http://127.0.0.1:1/login/\u001b]0;owned\u0007" });

it("an agent names a server of its own in http.json: it gets neither the token nor a word on the terminal", async () => {
  const here = lab();
  await served(here); // So that there is a token.
  const { heard, url } = await thief((_, response) => response.end(LINK));
  announce(here, url);
  const link = await here.cli("up", "--link");
  expect([link.code, link.stdout, link.stderr]).toEqual([3, "", expect.stringContaining("NOT_FOUND_SERVER")]);
  expect((await here.cli("metrics")).code).toBe(0);
  expect((await here.cli("doctor")).stdout).not.toContain(url);
  expect(heard).toHaveLength(3);
  for (const request of heard) {
    expect(request).toMatch(/^GET \/proof\/[0-9a-f]{64} /);
    expect(request.toLowerCase()).not.toContain("authorization");
    expect(request).not.toContain(tokenOf(here));
  }
});

it("it passes the question on to the real server: the answer is for that address, and nothing more is said", async () => {
  const here = lab();
  const real = await served(here);
  const { heard, url } = await thief(async (request, response) => {
    const { text } = await ask(real.url, request.url ?? "", { method: request.method ?? "GET" });
    response.end(text);
  });
  announce(here, url);
  expect((await here.cli("up", "--link")).code).toBe(3);
  expect(heard).toHaveLength(1);
});

it("agents that start while http.json names another server are given one of their own, and no capability leaves", async () => {
  const here = lab();
  const puppets = new Puppets(here);
  await served(here);
  const { heard, url } = await thief((_, response) => response.end(LINK));
  announce(here, url);
  const { record } = await puppets.start();
  const servers = JSON.stringify(here.fact(record, "mcp.json"));
  expect(servers).not.toContain(url);
  expect(servers).toContain('"mcp"');
  expect(heard.filter((request) => !/^GET \/proof\//.test(request))).toEqual([]);
});

it.each([
  "http://192.0.2.1:4750",
  "http://evil.example:4750",
  "https://127.0.0.1:4750",
  "http://127.0.0.1@evil.example:80",
  "http://127.0.0.1:4750/\u001b[2J",
  "http://127.0.0.1.evil.example:80",
])("an address that is not this machine's own is nobody: %s", async (url) => {
  const here = lab();
  here.workspace.http.token();
  announce(here, url);
  expect(here.workspace.http.server()).toBeUndefined();
  await expect(here.workspace.http.link()).rejects.toMatchObject({ code: "NOT_FOUND_SERVER" });
});

it("a server that answers without end, or not at all, is none", async () => {
  const here = lab();
  here.workspace.http.token();
  const endless = await thief((_, response) => {
    const more = (): void => {
      while (response.write("0".repeat(64 << 10)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  announce(here, endless.url);
  expect(await here.workspace.http.proven()).toBeUndefined();
  const silent = await thief(() => undefined);
  announce(here, silent.url);
  expect(await here.workspace.http.proven()).toBeUndefined();
});

it("the real one is believed, and what it proves is no login", async () => {
  const here = lab();
  const { url } = await served(here);
  expect((await here.workspace.http.proven())?.url).toBe(url);
  const { link } = JSON.parse((await here.cli("up", "--link", "--json")).stdout);
  expect((await ask(url, new URL(link).pathname)).status).toBe(200);
  const proof = (await ask(url, `/proof/${"0".repeat(64)}`)).text;
  expect(proof).toMatch(/^[0-9a-f]{64}$/);
  expect((await ask(url, "/api/ls", { headers: { authorization: `Bearer ${proof}` } })).status).toBe(401);
  for (const nonce of ["", "x", "0".repeat(63), `${"0".repeat(64)}%20page`])
    expect((await ask(url, `/proof/${nonce}`)).status).toBe(401);
  expect(readFileSync(join(here.root, "http.json"), "utf8")).toContain(url);
});
