import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import type { Limits } from "../../src/doors/http/limits.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { operations } from "../../src/operations/index.ts";
import { schemaOf } from "../../src/operations/schema.ts";
import { lab } from "../support/lab.ts";
import { ask, bearer, Follower, rssOf, startUp, tokenOf, wire } from "../support/net/http.ts";
import { resetUpgrades } from "../support/net/reset-upgrades.ts";
import { type Lab, until } from "../support/workspace.ts";

async function server(here: Lab, limits: Partial<Limits> = {}) {
  const served = await serve(here.workspace, {
    host: "127.0.0.1",
    port: 0,
    allowRemote: false,
    tell: () => undefined,
    limits,
  });
  onTestFinished(() => served.close());
  return { ...served, token: bearer(tokenOf(here)), port: new URL(served.url).port };
}

function capabilityOf(here: Lab, record: Parameters<Lab["startFact"]>[0]): string {
  const environment = readFileSync(`/proc/${here.startFact(record).main?.pid}/environ`, "latin1");
  return /MIDWATCH_CAPABILITY=([^\0]+)/.exec(environment)?.[1] as string;
}

it("a name bent to this address, and a page of another site, get nowhere, with the token neither", async () => {
  const here = lab();
  const { url, token, port } = await server(here);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    "127.0.0.1:1",
    `127.0.0.1.evil.example:${port}`,
  ]) {
    const answer = await ask(url, "/api/ls", { headers: { ...token, host } });
    expect([host, answer.status]).toEqual([host, 403]);
    expect((await ask(url, "/healthz", { headers: { host } })).status).toBe(403);
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`])
    expect((await ask(url, "/api/ls", { headers: { ...token, host } })).status).toBe(200);
  for (const origin of [
    "http://evil.example",
    "null",
    `https://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    "http://127.0.0.1",
  ]) {
    expect((await ask(url, "/api/ls", { headers: { ...token, origin } })).status).toBe(403);
    const follower = new Follower(url, { ...token, origin });
    await until(() => follower.refused !== undefined);
    expect(follower.refused).toBe(403);
  }
  expect((await ask(url, "/api/ls", { headers: { ...token, origin: url } })).status).toBe(200);
  // Nor is another page told that it may read: there is no CORS header on anything.
  const asked = await ask(url, "/api/ls", { method: "OPTIONS", headers: { origin: url, ...token } });
  expect(Object.keys(asked.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
});

it("also where other machines may come in, a name is none of ours and an address is", async () => {
  const here = lab();
  await expect(
    serve(here.workspace, { host: "0.0.0.0", port: 0, allowRemote: false, tell: () => undefined }),
  ).rejects.toMatchObject({ code: "USAGE" });
  const { url, close } = await serve(here.workspace, {
    host: "0.0.0.0",
    port: 0,
    allowRemote: true,
    tell: () => undefined,
  });
  onTestFinished(close);
  const { port } = new URL(url);
  const status = async (host: string) =>
    (await ask(url, "/api/ls", { headers: { ...bearer(tokenOf(here)), host: `${host}:${port}` } })).status;
  expect([await status("192.0.2.7"), await status("[2001:db8::7]"), await status("evil.example")]).toEqual([
    200, 200, 403,
  ]);
});

it("no operation answers without a token or with a wrong one; an agent's own gives an agent's rights", async () => {
  const here = lab();
  const { url } = await server(here);
  const record = await here.run("sleep", "60");
  const other = await here.run("sleep", "60");
  const capability = capabilityOf(here, record);
  const wrong = [
    {},
    bearer("0".repeat(64)),
    bearer(""),
    bearer(`${record.agent}:${"0".repeat(32)}`),
    bearer(`${other.agent}:${capability}`),
    bearer(`../${record.agent}:${capability}`),
    bearer(`${record.agent}:`),
    { authorization: `Basic ${tokenOf(here)}` },
    { cookie: `midwatch-${new URL(url).port}=${tokenOf(here)}` },
    { cookie: `midwatch-${new URL(url).port}=x.99999999999999.x` },
  ];
  const served = operations.filter(({ cliOnly }) => !cliOnly);
  for (const { name } of served) {
    const path = `/api/${name.replaceAll(" ", "/")}`;
    for (const headers of wrong) {
      const answer = await ask(url, path, { method: "POST", headers, body: "{}" });
      expect([name, answer.status]).toEqual([name, 401]);
    }
  }
  for (const path of ["/metrics", "/api/openapi.json", "/api/ls", "/api/none"])
    expect((await ask(url, path)).status).toBe(401);
  const asAgent = bearer(`${record.agent}:${capability}`);
  const status = async (path: string, body: object) =>
    (await ask(url, `/api/${path}`, { method: "POST", headers: asAgent, body: JSON.stringify(body) })).status;
  // What it may do for itself, and what only a person may.
  expect(await status("progress", { words: [record.agent, "working", "x"] })).toBe(200);
  expect(await status("event", { interaction: 1, actor: "me", type: "note", content: "x" })).toBe(200);
  for (const [path, body] of Object.entries({
    stop: { agents: [other.agent] },
    restart: { agent: other.agent },
    task: { description: "x" },
    prune: {},
    archive: { agent: other.agent },
    restore: { agent: other.agent },
    reap: { lost: true },
    progress: { words: [other.agent, "working", "x"] },
    send: { agent: other.agent, text: "x" },
    checkpoint: { agent: other.agent, interaction: 1 },
    health: { resume: true },
  }))
    expect([path, await status(path, body)]).toEqual([path, 403]);
  expect((await ask(url, "/login", { method: "POST", headers: asAgent })).status).toBe(403);
  expect((await here.workspace.runs.show(other.agent)).phase).toBe("running");
});

it("no path gets in through a field that names something", async () => {
  const here = lab();
  const { url, token } = await server(here);
  const record = await here.run("sleep", "60");
  const paths = [
    "../../etc/passwd",
    "..",
    "a/../../b",
    "%2e%2e%2f",
    "a\0b",
    "/etc/passwd",
    "..\\..\\x",
    "x".repeat(100_000),
  ];
  const fields = {
    agent: (x: string) => x,
    agents: (x: string) => [x],
    task: (x: string) => x,
    parent: (x: string) => x,
  };
  for (const operation of operations.filter(({ cliOnly }) => !cliOnly)) {
    const names = Object.keys(schemaOf(operation).shape).filter((name): name is keyof typeof fields => name in fields);
    for (const name of names) {
      for (const path of paths) {
        const body = JSON.stringify({ ...filled(operation.name, record.agent), [name]: fields[name](path) });
        const answer = await ask(url, `/api/${operation.name.replaceAll(" ", "/")}`, {
          method: "POST",
          headers: token,
          body,
        });
        expect([operation.name, name, path.slice(0, 20), answer.status, answer.json?.error?.code]).toEqual([
          operation.name,
          name,
          path.slice(0, 20),
          400,
          expect.stringMatching(/^(BAD_ID|USAGE)$/),
        ]);
        expect(answer.text.length).toBeLessThan(1000);
      }
    }
  }
  for (const path of [
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/login/..%2f..",
    "//etc/passwd",
    "/assets/../../x",
    "/api/../api/ls/..",
  ])
    expect((await ask(url, path, { headers: token })).status).toBeGreaterThanOrEqual(400);
});

/** What else the operation needs, so that only the path is wrong. */
function filled(name: string, agent: string): object {
  if (name === "run") return { command: ["true"] };
  if (name === "search") return { text: "x" };
  if (name === "send") return { agent, text: "x" };
  if (name === "event") return { interaction: "1", actor: "a", type: "note", content: "x" };
  return {};
}

it("a body of 100 MB is refused and not kept; a process of its own shows it", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0");
  const token = tokenOf(here);
  await ask(up.url, "/api/ls", { headers: bearer(token) });
  const before = rssOf(up.pid);
  let most = 0;
  const meter = setInterval(() => (most = Math.max(most, rssOf(up.pid))), 5);
  onTestFinished(() => clearInterval(meter));
  for (const [path, framing] of [
    ["/api/task", "Content-Length: 104857600"],
    ["/api/task", "Transfer-Encoding: chunked"],
    ["/mcp", "Transfer-Encoding: chunked"],
  ] as const) {
    const socket = await wire(up.url);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${new URL(up.url).host}\r\nAuthorization: Bearer ${token}\r\n${framing}\r\n\r\n`,
    );
    const part = Buffer.alloc(1 << 20, 120);
    const chunk = framing.startsWith("T")
      ? Buffer.concat([Buffer.from("100000\r\n"), part, Buffer.from("\r\n")])
      : part;
    for (let i = 0; i < 100 && !socket.destroyed && socket.writable; i++) {
      if (!socket.write(chunk))
        await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
    }
    await until(() => socket.received().includes("413") || socket.destroyed, 15_000);
    expect(socket.received()).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
  }
  expect(most - before).toBeLessThan(64 * 1024);
  expect((await ask(up.url, "/healthz")).status).toBe(200);
});

it("a client that sends its request drop by drop loses its connection; others are served meanwhile", async () => {
  const here = lab();
  const { url, token } = await server(here, { headMs: 400, requestMs: 800 });
  const host = new URL(url).host;
  const slow = await Promise.all(Array.from({ length: 20 }, () => wire(url)));
  for (const [i, socket] of slow.entries())
    socket.write(
      i % 2 === 0
        ? `GET /api/ls HTTP/1.1\r\nHost: ${host}\r\nX-`
        : `POST /api/task HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${token["authorization"]}\r\nContent-Length: 100\r\n\r\n{`,
    );
  const drip = setInterval(() => {
    for (const socket of slow) if (socket.writable) socket.write("a");
  }, 50);
  onTestFinished(() => clearInterval(drip));
  expect((await ask(url, "/healthz")).status).toBe(200);
  await until(() => slow.every((socket) => socket.destroyed || socket.readyState !== "open"), 10_000);
  expect(slow.every((socket) => socket.received() === "" || /^HTTP\/1.1 408 /.test(socket.received()))).toBe(true);
});

it("a WebSocket that floods, sends too much or what is no message is closed; one that follows too much is told", async () => {
  const here = lab();
  const { url, token } = await server(here);
  const { agent } = await here.run("sleep", "60");
  const open = () => new Follower(url, token).open();
  const flood = await open();
  for (let i = 0; i < 1000; i++) flood.send({ ack: 1 });
  const large = await open();
  large.socket.send(`{"sub":1,"stream":"${"x".repeat(70_000)}"}`);
  const garbage = await open();
  garbage.socket.send("{");
  const binary = await open();
  binary.socket.send(Buffer.from('{"sub":1,"stream":"fleet"}'));
  for (const [follower, code] of [
    [flood, 1008],
    [large, 1009],
    [garbage, 1008],
    [binary, 1008],
  ] as const) {
    await until(() => follower.closed !== undefined);
    expect(follower.closed?.code).toBe(code);
  }
  const many = await open();
  for (let sub = 0; sub < 70; sub++) many.send({ sub, stream: "log", agent });
  await until(() => many.of(69).length > 0);
  expect(many.messages.filter(({ error }) => error?.code === "REFUSED_LIMIT")).toHaveLength(6);
  for (const sub of [0, 1, 2, 3]) many.send({ unsub: sub });
  many.send({ sub: 100, stream: "log", agent: "../../x" });
  many.send({ sub: 101, stream: "nothing" });
  many.send({ sub: 102, stream: "journal", cursor: "../x" });
  many.send({ sub: 103, stream: "log", agent, cursor: { offset: 77 } });
  await until(() => many.of(103).length > 0);
  expect(many.of(100)[0]?.error?.code).toBe("BAD_ID");
  expect(many.of(101)[0]?.error?.code).toBe("USAGE");
  expect(many.of(103)[0]?.error?.code).toBe("USAGE");
  const unknown = new Follower(url, bearer("x"));
  await until(() => unknown.refused !== undefined);
  expect(unknown.refused).toBe(401);
  many.socket.terminate();
});

it("clients that are refused a WebSocket and reset the connection neither end the server nor leave a socket open", async () => {
  const up = await startUp(lab(), "--port", "0");
  expect(await resetUpgrades(up, 500)).toMatchObject({ faults: [] });
});

it("a client that is refused a WebSocket and stays connected does not keep its place", async () => {
  const { url } = await server(lab(), { connections: 4, refusedMs: 200 });
  const { host } = new URL(url);
  const head = `GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  const refused = await Promise.all(Array.from({ length: 4 }, () => wire(url, true)));
  for (const socket of refused) socket.write(head);
  await until(() => refused.every((socket) => socket.received().startsWith("HTTP/1.1 401 ")));
  expect(refused.some((socket) => socket.writableEnded)).toBe(false);
  await until(async () => (await ask(url, "/healthz").catch(() => undefined))?.status === 200);
  for (const socket of refused) socket.destroy();
});

it("a process that sits on the registry's lock holds up one request for moments, not the server for seconds", async () => {
  const here = lab();
  const { url, token } = await server(here, { lockMs: 1 });
  const task = { method: "POST", headers: token, body: '{"description":"x"}' };
  expect((await ask(url, "/api/task", task)).status).toBe(200);
  const holder = new DatabaseSync(join(here.root, "midwatch.db"));
  onTestFinished(() => holder.close());
  holder.exec("BEGIN IMMEDIATE");
  const busy = await ask(url, "/api/task", task);
  expect([busy.status, busy.json.error.code, busy.json.error.retryable]).toEqual([503, "REGISTRY_BUSY", true]);
  // By itself, as the command line does, it would have waited for two seconds.
  expect(Number(/for (\d+) ms/.exec(busy.json.error.message)?.[1])).toBeLessThan(2000);
  expect((await ask(url, "/api/ls", { headers: token })).status).toBe(200);
  holder.exec("ROLLBACK");
  expect((await ask(url, "/api/task", task)).status).toBe(200);
});

it("what an agent prints comes as data, untouched, in JSON that no browser takes for a page; secrets are hidden", async () => {
  const here = lab();
  const { url, token } = await server(here);
  const line = '<script>alert(1)</script>\u001b[31mred\u001b[0m & "quotes"';
  const record = await here.run("printf", "%s\n", line, "key sk-ant-REDACTED");
  await here.workspace.runs.wait([record.agent]);
  for (const path of [`/api/logs?agent=${record.agent}`, `/api/page?agent=${record.agent}`]) {
    const answer = await ask(url, path, { headers: token });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["x-content-type-options"]).toBe("nosniff");
    const [first, second] = answer.json.items ?? answer.json.records;
    expect(first.text).toBe(line);
    expect(second.text).not.toContain("abcdefghij");
  }
  for (const more of ["raw=true", "mask=false"])
    expect((await ask(url, `/api/logs?agent=${record.agent}&${more}`, { headers: token })).status).toBe(403);
  const hostile = await ask(url, `/api/show?agent=${encodeURIComponent("<img src=x>")}`, { headers: token });
  expect(hostile.headers["content-type"]).toBe("application/json");
});

it("the token is in its file and nowhere else: not in what is printed, logged, answered or told", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0");
  let said = "";
  for (const stream of [up.child.stdout, up.child.stderr]) stream?.on("data", (part) => (said += part));
  const token = tokenOf(here);
  const answers = [
    await ask(up.url, new URL(up.link).pathname),
    await ask(up.url, "/api/openapi.json", { headers: bearer(token) }),
    await ask(up.url, "/api/task", { method: "POST", headers: bearer(token), body: '{"description":"x"}' }),
    await ask(up.url, "/api/task", { method: "POST", headers: bearer(token), body: "{" }),
    await ask(up.url, `/api/show?agent=${token}`, { headers: bearer(token) }),
    await ask(up.url, `/api/${token}`, { headers: bearer(token) }),
    await ask(up.url, "/login", { method: "POST", headers: bearer(token) }),
    await ask(up.url, "/metrics", { headers: bearer(token) }),
    await ask(up.url, "/api/ls", { headers: bearer(`${token}x`) }),
  ];
  // Whoever writes the token into a field is told that it is no agent; that is the one place.
  const told = answers.filter((_, i) => i !== 4).map(({ headers, text }) => JSON.stringify(headers) + text);
  expect(told.join("\n")).not.toContain(token);
  expect(up.link).not.toContain(token);
  expect(said).not.toContain(token);
  for (const name of ["events.log", "http.json"])
    expect(readFileSync(join(here.root, name), "utf8")).not.toContain(token);
});
