/** What cannot be read leaves no descriptor open, however often somebody tries. */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import { Log } from "../../src/log/log.ts";
import { lab } from "../support/lab.ts";
import { bearer, Follower, tokenOf } from "../support/net/http.ts";
import { until } from "../support/workspace.ts";

const TRIES = 20;

/** How many of our descriptors lead to files below this folder. */
function openBelow(folder: string): number {
  const to = (fd: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  };
  return readdirSync("/proc/self/fd").filter((fd) => to(fd).startsWith(folder)).length;
}

it("a log whose index cannot be opened", () => {
  const here = lab();
  const place = join(here.folder, "other");
  mkdirSync(place);
  const path = join(place, "x.log");
  writeFileSync(path, "line\n");
  symlinkSync("loop.idx", join(place, "loop.idx"));
  for (let i = 0; i < TRIES; i++)
    expect(() => Log.open(path, join(place, "loop.idx"), { type: "stdout", json: false })).toThrow("symbolic link");
  expect(openBelow(place)).toBe(0);
});

it("a damaged archive: each page of it, its log, and a client that follows it", async () => {
  const here = lab();
  const served = await serve(here.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => served.close());
  const { agent } = await here.run("sh", "-c", "head -c 6000000 /dev/urandom | base64 -w 100");
  await here.workspace.runs.wait([agent]);
  await here.workspace.files.archive(agent);
  const { log } = await here.workspace.runs.show(agent);
  const bytes = readFileSync(log);
  bytes.fill(0xff, bytes.length - 5000, bytes.length - 4000);
  bytes.fill(0xff, 1000, 2000);
  writeFileSync(log, bytes);
  const before = openBelow(here.root);
  const damaged = expect.objectContaining({ code: "CORRUPT_ARCHIVE" });
  const follower = await new Follower(served.url, bearer(tokenOf(here))).open();
  for (const index of [true, false]) {
    if (!index) rmSync(log.replace(/\.jsonl\.zst$/, ".idx"));
    for (let i = 0; i < TRIES; i++) {
      expect(() => here.workspace.logs.page(agent, { tail: true, limit: 10 })).toThrow(damaged);
      follower.send({ sub: i, stream: "log", agent, cursor: { offset: 1000 } });
    }
    await until(() => follower.messages.filter(({ error }) => error?.code === "CORRUPT_ARCHIVE").length >= TRIES);
    follower.messages.length = 0;
  }
  expect(openBelow(here.root)).toBe(before);
  follower.socket.terminate();
});
