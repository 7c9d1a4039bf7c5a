import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseAgentId } from "../../src/core/ids.ts";
import { LIMITS } from "../../src/doors/http/limits.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { Registry } from "../../src/registry/registry.ts";
import { lab } from "../support/lab.ts";
import { followMany, followThroughKills, Numbers, printer } from "../support/net/followers.ts";
import { bearer, Follower, rssOf, startUp, tokenOf } from "../support/net/http.ts";
import { type Lab, until } from "../support/workspace.ts";

async function follow(here: Lab) {
  const served = await serve(here.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => served.close());
  const follower = await new Follower(served.url, bearer(tokenOf(here))).open();
  onTestFinished(() => follower.socket.terminate());
  return { ...served, follower };
}

/** What a busy Node holds before it cleans up; what would be kept for clients that do not read is many times that. */
const GROWN_KB = 256 * 1024;

it("40 clients follow 10 busy logs, one of them does not read for a while: nothing is lost or comes twice", async () => {
  const crowd = { logs: 10, clients: 40, bursts: 15, lines: 300 };
  const { faults, received, grownKb } = await followMany(lab(), crowd, 40_000);
  expect(faults).toEqual([]);
  expect(received).toBe(crowd.clients * crowd.bursts * crowd.lines);
  expect(grownKb).toBeLessThan(GROWN_KB);
});

it("clients that do not read do not make the server grow: 20 of them ask three times for 40 MB each", async () => {
  const here = lab();
  const up = await startUp(here, "--port", "0");
  const { agent } = await here.sh(`yes '{"pad":"${"x".repeat(1000)}"}' | head -n 40000`);
  await here.workspace.runs.wait([agent]);
  const before = rssOf(up.pid);
  const lazy = await Promise.all(Array.from({ length: 20 }, () => new Follower(up.url, bearer(tokenOf(here))).open()));
  for (const follower of lazy) {
    follower.socket.pause();
    for (const sub of [1, 2, 3]) follower.send({ sub, stream: "log", agent });
  }
  // Meanwhile somebody who reads gets all of it.
  let lines = 0;
  const reader = await new Follower(up.url, bearer(tokenOf(here)), ({ items }) => (lines += items?.length ?? 0)).open();
  reader.send({ sub: 1, stream: "log", agent });
  await until(() => lines === 40_000, 20_000);
  expect(rssOf(up.pid) - before).toBeLessThan(GROWN_KB);
  for (const { socket } of [...lazy, reader]) socket.terminate();
});

it("who comes back with a cursor goes on there, also when the server was killed: no line and no event is lost or comes twice", async () => {
  expect(await followThroughKills(lab(), { bursts: 40, lines: 100, kills: 1 })).toEqual([]);
});

it("a log from its end, from its beginning, into the next run, and to its end", async () => {
  const here = lab();
  const { follower } = await follow(here);
  const go = join(here.folder, "go");
  const { agent } = await here.sh(`echo one; echo err >&2; until [ -e "${go}" ]; do sleep 0.02; done; echo two`);
  await until(() => here.workspace.logs.page(agent, { limit: 10 }).lines === 1);
  follower.send({ sub: 1, stream: "log", agent });
  follower.send({ sub: 2, stream: "log", agent, cursor: "end" });
  follower.send({ sub: 3, stream: "log", agent, stderr: true });
  // Who follows from the end is told nothing before there is something; its place was taken before the third got its own.
  await until(() => [1, 3].every((sub) => follower.of(sub).length > 0));
  writeFileSync(go, "");
  await until(() => [1, 2, 3].every((sub) => follower.of(sub).at(-1)?.end));
  const texts = (sub: number) => follower.items(sub).map(({ text }) => text);
  expect([texts(1), texts(2), texts(3)]).toEqual([["one", "two"], ["two"], ["err"]]);
  const cursor = follower.of(1).at(-2)?.cursor;
  expect(cursor).toMatchObject({ run: 1, line: 2 });
  await here.workspace.runs.restart(agent);
  // Where it had ended, in what is run 1 of an agent that has a second one now.
  follower.send({ sub: 4, stream: "log", agent, cursor });
  follower.send({ sub: 5, stream: "log", agent, run: 1 });
  await until(() => follower.of(4).at(-1)?.end && follower.of(5).at(-1)?.end);
  expect(follower.of(4)[0]).toMatchObject({ run: 2, cursor: { run: 2, offset: 0, line: 0 } });
  expect(follower.items(4).map(({ type, text }) => text ?? type)).toEqual(["lifecycle", "one", "two"]);
  expect(texts(5)).toEqual(["one", "two"]);
});

it("R-001.4: with watch_streaming off no summary is sent; it can be asked for", async () => {
  const here = lab({ watch_streaming: "off" });
  const { follower } = await follow(here);
  const { agent } = await here.sh(printer(1000, 10));
  follower.send({ sub: 1, stream: "fleet" });
  follower.send({ sub: 2, stream: "summaries" });
  await here.workspace.verdicts.rounds().round({ once: true });
  await until(() => follower.items(1).some(({ summary }) => (summary ?? null) !== null));
  await here.workspace.runs.stop([agent], { graceMs: 0 });
  await until(() => follower.items(1).some(({ outcome }) => outcome === "stopped"));
  expect(follower.items(2)).toEqual([]);
  expect((await here.workspace.verdicts.of(agent)).instance_id).toBe(agent);
});

it("R-001.26: the fleet comes whole, then what changes; summaries come as they are made", async () => {
  const here = lab();
  const { follower } = await follow(here);
  const { agent } = await here.sh(printer(1000, 10));
  follower.send({ sub: 1, stream: "fleet" });
  follower.send({ sub: 2, stream: "summaries" });
  await until(() => follower.of(1).length > 0);
  expect(follower.of(1)[0]).toMatchObject({
    whole: true,
    items: [{ agent, phase: "running", rate: expect.any(Number) }],
  });
  await here.workspace.verdicts.rounds().round({ once: true });
  await until(() =>
    follower.of(1).some(({ whole, items }) => !whole && items?.[0]?.rate > 0 && items?.[0].summary !== null),
  );
  await until(() => follower.items(2).some((summary) => summary.instance_id === agent));
  await here.workspace.runs.stop([agent], { graceMs: 0 });
  await until(() => follower.items(1).some(({ outcome }) => outcome === "stopped"));
  await here.workspace.files.prune({ olderMs: 0 });
  await until(() => follower.items(1).some(({ gone }) => gone));
  expect(follower.items(1).at(-1)).toEqual({ agent, gone: true });
});

it("summaries come once each, in messages of a bounded size, and from a cursor only what is newer", async () => {
  const here = lab();
  const { agent } = await here.sh("true");
  await here.workspace.runs.wait([agent]);
  const time = (i: number): string => new Date(Date.UTC(2026, 0, 1) + Math.floor(i / 100)).toISOString();
  const summaries = Array.from({ length: 400 }, (_, i) => ({
    agent: parseAgentId(`s-${i}`),
    run: 1,
    id: `${i}`,
    told: `${i}`,
    final: 1,
    data: { instance_id: `s-${i}`, run: 1, timestamp: time(i), current_activity: "x".repeat(2000) },
  }));
  const registry = Registry.open(join(here.root, "midwatch.db"));
  onTestFinished(() => registry.close());
  const nothing = { tasks: [], agents: [], runs: [], files: [] };
  registry.putBack({ ...nothing, summaries });
  const { follower } = await follow(here);
  follower.send({ sub: 1, stream: "summaries" });
  await until(() => follower.items(1).length >= 400);
  expect(new Set(follower.items(1).map(({ instance_id }) => instance_id)).size).toBe(400);
  for (const { items } of follower.of(1)) expect(JSON.stringify(items).length).toBeLessThan(2 * LIMITS.batchBytes);
  follower.send({ sub: 2, stream: "summaries", cursor: time(300) });
  await until(() => follower.items(2).length >= 100);
  const changed = { ...summaries[7], data: { ...summaries[7]?.data, timestamp: time(1000) } } as (typeof summaries)[0];
  registry.putBack({ ...nothing, summaries: [changed] });
  await here.sh("true"); // News of the fleet.
  for (const [sub, seen] of [
    [1, 401],
    [2, 101],
  ] as const) {
    await until(() => follower.items(sub).length >= seen);
    expect(follower.items(sub)).toHaveLength(seen);
    expect(follower.items(sub).at(-1)).toEqual(changed.data);
  }
});

it("a line of many megabytes is shown by its beginning, and the ones behind it come", async () => {
  const here = lab();
  const { follower } = await follow(here);
  const { agent } = await here.sh("head -c 9000000 /dev/zero | tr '\\0' x; echo; echo behind");
  follower.send({ sub: 1, stream: "log", agent });
  await until(() => follower.of(1).at(-1)?.end);
  expect(follower.items(1)).toMatchObject([
    { seq: 1, truncated: true },
    { seq: 2, text: "behind" },
  ]);
  expect(follower.items(1)[0].text).toHaveLength(128 << 10);
});

it("numbers that do not follow each other are found", () => {
  const numbers = new Numbers();
  numbers.take({
    sub: 1,
    items: [
      { seq: 1, data: { n: 1 } },
      { seq: 3, data: { n: 3 } },
    ],
  });
  expect(numbers.faults).toEqual(["behind 1 came 3 (seq 3)"]);
});
