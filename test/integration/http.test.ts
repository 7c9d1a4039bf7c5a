import { appendFileSync, cpSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ConfigInput } from "../../src/core/config/config.ts";
import type { Limits } from "../../src/doors/http/limits.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { speaker } from "../support/cli/speaker.ts";
import { midwatch } from "../support/cli.ts";
import { told } from "../support/data/events.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { type Asking, ask, bearer, Follower, sessionOf, startUp, tokenOf } from "../support/net/http.ts";
import { takeOverWorkspace } from "../support/trusted.ts";
import { ended, type Lab, until } from "../support/workspace.ts";

async function server(here: Lab, limits: Partial<Limits> = {}) {
  const served = await serve(here.workspace, {
    host: "127.0.0.1",
    port: 0,
    allowRemote: false,
    tell: () => undefined,
    limits,
  });
  onTestFinished(() => served.close());
  const token = bearer(tokenOf(here));
  const get = (path: string) => ask(served.url, path, { headers: token });
  const post = (path: string, body: object, headers = token) =>
    ask(served.url, path, { method: "POST", headers, body: JSON.stringify(body) });
  return { ...served, get, post, token };
}

it("answers with what the command line prints, and sees at once what was changed through it", async () => {
  const here = lab();
  const { get, post } = await server(here);
  expect((await get("/api/ls")).json).toEqual({ items: [], truncated: false });
  const made = await post("/api/run", { command: ["sh", "-c", "echo '{\"n\":1}'; echo two; sleep 60"] });
  expect(made.status).toBe(200);
  const { agent } = made.json.items[0];
  const listed = (await get("/api/ls")).json.items;
  expect(listed.map((one: { agent: string }) => one.agent)).toEqual([agent]);
  const shown = JSON.parse((await midwatch(here.folder, ["show", agent, "--json"])).stdout);
  expect((await get(`/api/show?agent=${agent}`)).json).toMatchObject({
    agent,
    run: 1,
    task: shown.task,
    log: shown.log,
  });
  await until(async () => (await get(`/api/page?agent=${agent}`)).json.lines === 2);
  const page = (await get(`/api/page?agent=${agent}&tail=true&limit=1`)).json;
  expect(page).toMatchObject({ agent, run: 1, live: true, lines: 2, first_line: 1, next: { line: 2 } });
  expect(page.records).toMatchObject([{ seq: 2, text: "two" }]);
  const logs = (await get(`/api/logs?agent=${agent}&lines=1`)).json;
  expect(logs).toMatchObject({ items: [{ seq: 2, text: "two" }], truncated: false });
  const [report] = (await post("/api/stop", { agents: [agent], grace: "0s" })).json.items;
  expect(report).toMatchObject({ agent, verified: true });
  expect((await get("/api/ls")).json.items[0]).toMatchObject({ agent, phase: "drained", outcome: "stopped" });
  expect((await get(`/api/timeline?agent=${agent}`)).json.items.map((one: { label: string }) => one.label)).toContain(
    "nothing left",
  );
});

it("a long list is cut and says so; an endless stream ends with what there is", async () => {
  const here = lab();
  const { get } = await server(here, { answerItems: 3, answerMs: 500 });
  for (let i = 0; i < 5; i++)
    await here.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: `${i}` });
  const cut = (await get("/api/events?lines=100")).json;
  expect(cut.items).toHaveLength(3);
  expect(cut.truncated).toBe(true);
  const some = (await get("/api/events?lines=2&follow=true")).json;
  expect(some.items.map((one: { content: string }) => one.content)).toEqual(["3", "4"]);
});

it("errors have the status of their code and say what to do", async () => {
  const here = lab();
  const { get, post } = await server(here);
  expect(await get("/api/show?agent=nobody")).toMatchObject({
    status: 404,
    json: { error: { code: "NOT_FOUND_AGENT" } },
  });
  expect(await get("/api/nothing")).toMatchObject({ status: 404, json: { error: { code: "NOT_FOUND_ROUTE" } } });
  expect(await get("/api/up")).toMatchObject({ status: 404 });
  expect(await get("/api/logs?agent=x&lines=many")).toMatchObject({ status: 400, json: { error: { code: "USAGE" } } });
  expect(await get("/api/show?agnet=x")).toMatchObject({ status: 400 });
  expect(await get("/api/stop?agents=x")).toMatchObject({ status: 400, json: { error: { hint: "POST /api/stop" } } });
  expect(await post("/api/event", { interaction: 1, actor: "A", type: "http.change", content: "" })).toMatchObject({
    status: 403,
    json: { error: { code: "REFUSED_TYPE" } },
  });
});

it("a change is told to the journal: who, what and on what, never the words", async () => {
  const here = lab();
  const { post, url } = await server(here);
  const { agent } = await here.run("sleep", "60");
  await post("/api/progress", { words: [agent, "working", "the secret plan"] });
  const environment = readFileSync(
    `/proc/${here.startFact({ ...(await here.workspace.runs.show(agent)) }).main?.pid}/environ`,
    "latin1",
  );
  const capability = /MIDWATCH_CAPABILITY=([^\0]+)/.exec(environment)?.[1];
  const asAgent = { ...bearer(`${agent}:${capability}`) };
  expect((await post("/api/finding", { words: [agent, "bug", "low", "hush"] }, asAgent)).status).toBe(200);
  expect((await post("/api/restart", { agent }, asAgent)).json.error.code).toBe("REFUSED_RIGHT");
  // Without a name it means itself.
  const own = await ask(url, "/api/show", { headers: asAgent });
  expect(own.json.agent).toBe(agent);
  const changes = told(here, "http.change");
  expect(changes.map(({ data }) => data)).toEqual([
    { by: "a person", operation: "progress", targets: [], error: null },
    { by: agent, operation: "restart", targets: [agent], error: "REFUSED_RIGHT" },
  ]);
  expect(JSON.stringify(changes)).not.toMatch(/secret plan|hush/);
});

it("a link opens the page once; the session outlives the server, opens no MCP, makes no link, and sets no cookie", async () => {
  const here = lab();
  const first = await server(here);
  const opened = await ask(first.url, new URL(first.link).pathname);
  expect([opened.status, opened.headers["set-cookie"], opened.headers["cache-control"]]).toEqual([
    200,
    undefined,
    "no-store",
  ]);
  const session = sessionOf(opened.text);
  expect(opened.text).not.toContain(tokenOf(here));
  const again = await ask(first.url, new URL(first.link).pathname);
  expect([again.status, again.text]).toEqual([403, expect.stringContaining("midwatch up --link")]);
  const inBrowser = await ask(first.url, new URL(first.link).pathname, { headers: { accept: "text/html,*/*" } });
  expect([inBrowser.status, inBrowser.text]).toEqual([403, (await ask(first.url, "/")).text]);
  const port = Number(new URL(first.url).port);
  await first.close();
  const second = await serve(here.workspace, { host: "127.0.0.1", port, allowRemote: false, tell: () => undefined });
  onTestFinished(() => second.close());
  const status = async (path: string, more: Asking = {}) =>
    (await ask(second.url, path, { ...more, headers: { ...bearer(session), ...more.headers } })).status;
  expect(await status("/api/ls")).toBe(200);
  expect(await status("/api/ls", { headers: bearer(`${session}x`) })).toBe(401);
  expect(await status("/api/ls", { headers: { origin: "http://evil.example" } })).toBe(403);
  expect(await status("/api/task", { method: "POST", body: '{"description":"x"}' })).toBe(200);
  expect(await status("/login", { method: "POST" })).toBe(403);
  expect(await status("/mcp", { method: "POST", body: "{}" })).toBe(403);
  const follower = new Follower(second.url, {}, undefined, ["midwatch", `session.${session}`]);
  await follower.open();
  expect(follower.socket.protocol).toBe("midwatch");
  follower.socket.terminate();
  const wrong = new Follower(second.url, {}, undefined, ["midwatch", `session.${session}x`]);
  await until(() => wrong.refused !== undefined);
  expect(wrong.refused).toBe(401);
});

it("up serves, tells where, gives new links, and takes all of it back when it ends", async () => {
  const here = lab();
  const one = await startUp(here, "--port", "0");
  const fact = JSON.parse(readFileSync(join(here.root, "http.json"), "utf8"));
  expect(fact).toMatchObject({ url: one.url, pid: one.pid });
  for (const name of ["http.json", "http-token"]) expect(statSync(join(here.root, name)).mode & 0o777).toBe(0o600);
  expect((await ask(one.url, "/healthz")).json).toEqual({ ok: true });
  // Long enough for a client that thinks between two calls, or gets no turn: it must not ask on a connection that is being closed.
  expect((await fetch(`${one.url}/healthz`)).headers.get("keep-alive")).toBe("timeout=60");
  const link = JSON.parse((await midwatch(here.folder, ["up", "--link", "--json"])).stdout).link;
  expect((await ask(one.url, new URL(link).pathname)).status).toBe(200);
  expect((await midwatch(here.folder, ["up", "--port", new URL(one.url).port])).stderr).toContain("PORT_IN_USE");
  const two = await startUp(here, "--port", "0");
  expect(two.url).not.toBe(one.url);
  const follower = await new Follower(two.url, bearer(tokenOf(here))).open();
  for (const { child } of [two, one]) {
    const over = ended(child);
    child.kill("SIGINT");
    expect((await over).code).toBe(130);
  }
  await until(() => follower.closed !== undefined);
  expect(() => statSync(join(here.root, "http.json"))).toThrow();
  expect((await midwatch(here.folder, ["up", "--link"])).code).toBe(3);
  expect((await midwatch(here.folder, ["up", "--host", "0.0.0.0"])).stderr).toContain("--allow-remote");
});

it("R-002.17, R-004.22: stops and cleanups are counted with their result and duration", async () => {
  const here = lab();
  const { get } = await server(here);
  const { agent } = await here.sh("echo hello; sleep 60");
  await here.workspace.runs.stop([agent], { graceMs: 0, purge: true });
  const text = (await get("/metrics")).text;
  expect(text).toMatch(/^midwatch_stops_total\{result="ok"\} 1$/m);
  expect(text).toMatch(/^midwatch_cleanups_total\{result="ok"\} 1$/m);
  expect(text).toMatch(/^midwatch_stop_seconds_count 1$/m);
  expect(text).toMatch(/^midwatch_freed_bytes_total [1-9]/m);
  expect(text).toMatch(/^midwatch_runs_ended\{outcome="stopped"\} 1$/m);
  expect(text).toMatch(/^midwatch_disk_free_bytes [1-9]\d+$/m);
  for (const line of text.trim().split("\n"))
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [\d.e+-]+|\w+ \+Inf)$/);
  // Asked for through a running server: the same text.
  expect((await midwatch(here.folder, ["metrics"])).stdout).toContain('midwatch_stops_total{result="ok"} 1');
});

it("R-000.51: metrics: latency of appends and syncs by buckets, bytes and lines, bad lines, lag of readers, free disk", async () => {
  const here = lab();
  const { get, post } = await server(here);
  const workspace = here.open({
    env: speaker(here.folder, [{ type: "system", subtype: "init", session_id: "s" }], "printf '{torn\\n'"),
  });
  const run = await workspace.runs.start({ driver: "claude", prompt: "p" });
  await workspace.runs.wait([run.agent]);
  await workspace.verdicts.rounds().round();
  appendFileSync(join(here.root, "events.log"), "no event\n");
  const sent = { interaction: 1, actor: "a", type: "note", content: "one" };
  expect((await post("/api/event", sent)).status).toBe(200);
  const { text } = await get("/metrics");
  const value = (name: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.split(" ")
        .at(-1),
    );
  expect(value("midwatch_recorded_bytes")).toBe(statSync(run.log).size);
  expect([value("midwatch_read_lines"), value('midwatch_bad_lines{of="logs"}')]).toEqual([2, 1]);
  expect(value('midwatch_bad_lines{of="journal"}')).toBe(1);
  const [appends, syncs] = [
    'midwatch_journal_append_seconds_count{durable="yes"}',
    "midwatch_journal_sync_seconds_count",
  ];
  expect(value(appends)).toBeGreaterThan(0);
  expect(value(syncs)).toBeGreaterThan(0);
  expect(value(syncs)).toBeLessThanOrEqual(value(appends));
  expect(value('midwatch_journal_sync_seconds_bucket{le="+Inf"}')).toBe(value(syncs));
  expect(value('midwatch_cursor_lag_bytes{of="worst"}')).toBe(0);
  expect(value("midwatch_disk_free_bytes")).toBeGreaterThan(0);
});

it("R-004.22: a run that cannot be stopped with proof is told each time, and the third time as an error", async () => {
  const here = lab();
  const record = await here.run("sleep", "60");
  // A copy whose facts say that it runs in another container: there is nothing that could be stopped from here.
  const root = join(folder(), ".agent-workspace");
  cpSync(here.root, root, { recursive: true });
  for (const name of ["intent.json", "start.json"]) {
    const path = join(root, record.task, "runs", record.agent, "1", name);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"pid_ns":"\d+"/, '"pid_ns":"1"'));
  }
  takeOverWorkspace(root);
  using elsewhere = openWorkspace({ workspace: root });
  for (let tries = 1; tries <= 4; tries++) {
    expect(await elsewhere.runs.stop([record.agent], { graceMs: 0 })).toMatchObject([{ verified: false }]);
    const lines = told({ root }).filter(({ agent }) => agent === record.agent);
    expect(lines.filter(({ type }) => type === "stop.failed")).toHaveLength(tries);
    expect(lines.filter(({ type }) => type === "error")).toHaveLength(tries < 3 ? 0 : 1);
  }
  expect(await elsewhere.up.metrics()).toMatch(/^midwatch_stops_total\{result="failed"\} 4$/m);
});

it("R-000.14: a progress report tells how much room there is, a warning and an error when it is little", async () => {
  const here = lab();
  const { agent } = await here.run("sleep", "60");
  const said = (config: ConfigInput) => here.open({ config }).mail.progress(agent, "working", "on it").disk;
  expect(said({})).toMatchObject({ state: "ok", free_bytes: expect.any(Number) });
  expect(said({ disk_warn: 9e15 })).toMatchObject({ state: "warning" });
  expect(said({ disk_warn: 9e15, disk_refuse: 8e15 })).toMatchObject({ state: "error" });
});

it("the page, the policy and what may be kept", async () => {
  const here = lab();
  const { url, get } = await server(here);
  const root = await ask(url, "/");
  expect(root.status).toBe(200);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(root.text)?.[1] ?? "";
  const sizes = await Promise.all(
    ["identity", "gzip", "gzip, br"].map(async (accepted) => {
      const { headers } = await ask(url, script, { headers: { "accept-encoding": accepted } });
      expect(headers).toMatchObject({ vary: "Accept-Encoding", "cache-control": expect.stringContaining("immutable") });
      expect(headers["content-encoding"]).toBe({ gzip: "gzip", "gzip, br": "br" }[accepted]);
      return Number(headers["content-length"]);
    }),
  );
  expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) / 2);
  expect(sizes[2]).toBeLessThan(sizes[1] ?? 0);
  const api = await get("/api/openapi.json");
  expect(api.json.paths["/api/stop"].post.requestBody).toBeDefined();
  expect(api.json.paths["/api/stop"].get).toBeUndefined();
  expect(api.json.paths["/api/jsonl/tail"].get).toBeDefined();
  expect(api.json.paths["/api/attach"]).toBeUndefined();
  expect(api.headers).toMatchObject({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
});
