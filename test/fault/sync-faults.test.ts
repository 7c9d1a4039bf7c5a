// Each way in which a remote can fail, by a real server or a real repository: told apart rightly, and nothing is lost by any.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { JournalEvent } from "../../src/journal/event.ts";
import { isMentioned } from "../../src/process/identity.ts";
import { fileOf } from "../support/data/journal.ts";
import { folder } from "../support/folder.ts";
import { GitServer } from "../support/net/git-server.ts";
import { Machine } from "../support/net/machine.ts";
import { patient } from "../support/patience.ts";

const git = (...args: string[]): string =>
  execFileSync("git", args, { encoding: "utf8", stdio: "pipe", timeout: patient(30_000) });

function machine(at = folder()): Machine {
  const made = new Machine(at);
  onTestFinished(() => made.close());
  return made;
}

function bare(): string {
  const at = join(folder(), "remote.git");
  git("init", "--quiet", "--bare", at);
  git("-C", at, "config", "http.receivepack", "true");
  return at;
}

async function server(at: string): Promise<GitServer> {
  const made = await GitServer.start(join(at, ".."));
  onTestFinished(() => made.close());
  return made;
}

async function errorsOf(one: Machine): Promise<string[]> {
  return (await one.read()).filter(({ event }) => event.type === "error").map(({ event }) => event.content);
}

it("R-003.16, R-003.15: wrong credentials stop sync at once with a clear message; it goes on when they change", async () => {
  const remote = await server(bare());
  remote.mood = { password: "right" };
  const here = machine();
  await here.say(1, "hello");
  const syncer = await here.syncer(remote.url("remote.git", "me:wrong-secret@"));
  expect(await syncer.sync()).toMatchObject({ state: "stopped", fault: "auth", waiting: 2 });
  const [error] = await errorsOf(here);
  expect(error).toMatch(/stopped \(auth\).*Authentication failed/);
  expect(syncer.isDue()).toBe(false);
  const kept = fileOf(here.root, "sync/state.json") + fileOf(here.root, "events.log") + here.told.join();
  expect(kept).not.toContain("wrong-secret");

  const again = await here.syncer(remote.url("remote.git"));
  expect(await again.sync()).toMatchObject({ state: "stopped", fault: "auth" });
  expect(await errorsOf(here)).toHaveLength(1);
  const { host } = new URL(remote.url(""));
  const home = join(here.root, "..");
  writeFileSync(join(home, ".git-credentials"), `http://me:right@${host}\n`);
  writeFileSync(join(home, ".gitconfig"), "[credential]\n\thelper = store\n");
  await expect.poll(() => again.isDue(), { timeout: patient(10_000) }).toBe(true);
  expect(await again.sync()).toMatchObject({ state: "ok", fault: null, synced: 2, waiting: 0 });
});

it("R-003.16: a remote that may be read but not written is found at the start, also with nothing to push", async () => {
  const at = bare();
  const one = machine();
  await one.say(1, "hello");
  await one.sync(at);
  git("-C", at, "config", "http.receivepack", "false");
  const remote = await server(at);
  expect(await one.sync(remote.url("remote.git"))).toMatchObject({ state: "stopped", fault: "auth" });
});

it("R-003.15: a repository that is not there stops sync, over HTTP and as a path", async () => {
  const at = bare();
  const remote = await server(at);
  const here = machine();
  expect(await here.sync(remote.url("other.git"))).toMatchObject({ state: "stopped", fault: "gone" });
  expect(await here.sync(join(at, "nothing.git"))).toMatchObject({ state: "stopped", fault: "gone" });
});

it("R-003.15: a hook that refuses stops sync; with its consent everything goes out", async () => {
  const at = bare();
  const hook = join(at, "hooks/pre-receive");
  mkdirSync(join(at, "hooks"), { recursive: true });
  writeFileSync(hook, "#!/bin/sh\necho not here >&2\nexit 1\n", { mode: 0o755 });
  const here = machine();
  await here.say(1, "hello");
  expect(await here.sync(at)).toMatchObject({ state: "stopped", fault: "policy", waiting: 2 });
  renameSync(hook, `${hook}.off`);
  expect(await here.sync(at)).toMatchObject({ state: "ok", waiting: 0 });
});

it("R-003.12, R-003.15: a server in trouble is tried six times, then we are offline; 1,000 events later all go out, in order, once", async () => {
  const at = bare();
  const remote = await server(at);
  remote.mood = 500;
  const here = machine();
  await here.say(1, "before");
  const syncer = await here.syncer(remote.url("remote.git"));
  expect(await syncer.sync()).toMatchObject({ state: "offline", fault: "transient", failures: 6 });
  expect(here.told.filter((text) => text.includes("Trying again"))).toEqual(
    [1, 2, 4, 8, 16].map((seconds) => expect.stringContaining(`in ${seconds} s`)),
  );
  await here.say(2, ...Array.from({ length: 1000 }, (_, i) => `while offline ${i}`));
  expect(await syncer.sync()).toMatchObject({ state: "offline", failures: 7, waiting: 1002 });
  expect(await errorsOf(here)).toHaveLength(1);
  const waiting = fileOf(here.root, "events.offline.log").trim().split("\n");
  expect(waiting.map((line) => (JSON.parse(line) as JournalEvent).id)).toEqual(
    (await here.read()).map(({ event }) => event.id),
  );
  remote.mood = "ok";
  expect(await syncer.sync()).toMatchObject({ state: "ok", waiting: 0, synced: 1002 });
  expect(existsSync(join(here.root, "events.offline.log"))).toBe(false);

  const there = machine();
  await there.sync(at);
  const read = (await there.read()).map(({ event }) => event);
  expect(read.filter(({ type }) => type === "question").map(({ id }) => id)).toEqual(here.said);
  expect(await there.snapshot()).toBe(await here.snapshot());
});

it("R-003.15: a server that takes the question and never answers is given up, with all that was started to ask it", async () => {
  const remote = await server(bare());
  remote.mood = "hang";
  const sockets: Socket[] = [];
  const deaf = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => void deaf.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    deaf.close();
  });
  const { port } = deaf.address() as { port: number };
  const here = machine();
  await Promise.all(
    [remote.url("remote.git"), `git://127.0.0.1:${port}/x.git`].map(async (url, i) => {
      const asking = i === 0 ? here : machine();
      const status = await asking.sync(url, { networkMs: 300 });
      expect(status).toMatchObject({ state: "offline", fault: "transient" });
      expect(status.message).toMatch(/no end in time/);
      expect(isMentioned(asking.layout.sync.git)).toBe(false);
    }),
  );
});

it("R-003.15: a lock and a damaged repository that a killed git left behind are no hindrance", async () => {
  const at = bare();
  const here = machine();
  await here.say(1, "one");
  await here.sync(at);
  const own = here.layout.sync.git;
  for (const lock of ["index.lock", "packed-refs.lock", "refs/midwatch/tip.lock"]) writeFileSync(join(own, lock), "");
  await here.say(1, "two");
  expect(await here.sync(at)).toMatchObject({ state: "ok", waiting: 0 });
  const tip = readFileSync(join(own, "refs/midwatch/tip"), "utf8").trim();
  const object = join(own, "objects", tip.slice(0, 2), tip.slice(2));
  execFileSync("sh", ["-c", 'chmod u+w "$0"; : > "$0"', object]);
  await here.say(1, "three");
  expect(await here.sync(at)).toMatchObject({ state: "ok", waiting: 0, synced: 3 });
});

it("R-003.15: a branch that was deleted or set back is whole again after the next sync of anybody", async () => {
  const at = bare();
  const [a, b] = [machine(), machine()];
  await a.say(1, "from a");
  await a.sync(at);
  const before = git("-C", at, "rev-parse", "midwatch-journal").trim();
  await b.say(2, "from b");
  await b.sync(at);
  await a.sync(at);
  git("-C", at, "update-ref", "refs/heads/midwatch-journal", before);
  await a.sync(at);
  git("-C", at, "update-ref", "-d", "refs/heads/midwatch-journal");
  await a.sync(at);
  const c = machine();
  await c.sync(at);
  expect(await c.snapshot()).toBe(await b.snapshot());
  expect((await c.read()).map(({ event }) => event.content)).toEqual(["from a", "from b"]);
});

it("R-003.15: a copy of a workspace that syncs too takes a name of its own, and nothing is lost or doubled", async () => {
  const at = bare();
  const a = machine();
  await a.say(1, "both have this");
  await a.sync(at);
  const twin = folder();
  execFileSync("cp", ["-a", a.root, twin]);
  const b = machine(twin);
  await a.say(2, "only a");
  await b.say(2, "only b");
  await a.sync(at);
  await b.snapshot();
  expect(await b.sync(at)).toMatchObject({ state: "ok", waiting: 0 });
  await a.sync(at);
  const contents = (await a.read()).map(({ event }) => event.content);
  expect(contents.sort()).toEqual(["both have this", "only a", "only b"]);
  expect(await a.snapshot()).toBe(await b.snapshot());
  expect(JSON.parse(fileOf(a.root, "sync/origin.json")).origin).not.toBe(
    JSON.parse(fileOf(b.root, "sync/origin.json")).origin,
  );
});
