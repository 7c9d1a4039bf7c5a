import { createHmac } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import { lab } from "../support/lab.ts";
import { ask, bearer, sessionOf, tokenOf } from "../support/net/http.ts";

async function server() {
  const here = lab();
  const served = await serve(here.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => served.close());
  return { ...served, here, path: new URL(served.link).pathname };
}

it("a program that looks at a login link before the person does, by any method but GET, neither spends it nor gets a session", async () => {
  const { url, path } = await server();
  for (const method of ["HEAD", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"]) {
    const { status, headers, text } = await ask(url, path, { method });
    expect([method, status, headers["set-cookie"], sessionOf(text)]).toEqual([
      method,
      method === "HEAD" ? 200 : 401,
      undefined,
      "",
    ]);
  }
  const opened = await ask(url, path);
  expect([opened.status, sessionOf(opened.text)]).toEqual([200, expect.stringMatching(/^[\w-]+\.\d+\.[\w-]+$/)]);
  expect((await ask(url, path)).status).toBe(403);
});

it("a cookie of 0.1 that another port of this machine received is not believed, neither as a cookie nor as a bearer", async () => {
  const { url, here } = await server();
  const session = `c2Vzc2lvbg.${Date.now() + 1e9}`;
  const old = `${session}.${createHmac("sha256", tokenOf(here)).update(`session ${session}`).digest("base64url")}`;
  const cookie = `midwatch-${new URL(url).port}=${old}`;
  const change = { method: "POST", body: '{"description":"x"}' };
  for (const headers of [{ cookie }, { cookie, "x-midwatch": "1", origin: url }, bearer(old)]) {
    expect((await ask(url, "/api/ls", { headers })).status).toBe(401);
    expect((await ask(url, "/api/task", { ...change, headers })).status).toBe(401);
  }
  expect(here.workspace.runs.tasks()).toEqual([]);
});
