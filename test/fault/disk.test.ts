import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ConfigInput } from "../../src/core/config/config.ts";
import type { DoneFact } from "../../src/core/types.ts";
import { readFact } from "../../src/disk/sealed.ts";
import { openWorkspace, type Workspace } from "../../src/fleet/workspace.ts";
import { mayMount, remount, tmpfs } from "../support/fault/tmpfs.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { rawLog, until, workspaceIn } from "../support/run.ts";

const MIB = 1 << 20;
const SMALL: ConfigInput = { disk_warn: "34M", disk_refuse: "33M", disk_floor: "32M", grace: "500ms" };

/** Numbers from 1 to n, one a line: what a whole log must hold. */
function numbers(n: number): string {
  return Array.from({ length: n }, (_, i) => `${i + 1}\n`).join("");
}

/** Prints the numbers from 1 to n at 200 MB/s: faster than any agent, slower than a disk. */
function paced(n: number): string[] {
  const script = `const { writeSync } = require("node:fs");
    let text = "", begun = performance.now(), sent = 0;
    for (let i = 1; i <= ${n}; i++) {
      text += i + "\\n";
      if (text.length < 1e6 && i < ${n}) continue;
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
      sent += bytes.length; text = "";
      const ahead = sent / 200e3 - (performance.now() - begun);
      if (ahead > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ahead);
    }`;
  return [process.execPath, "-e", script];
}

/** Takes up room, for real, in pieces until `bytes` are taken or the disk is full. */
function fill(path: string, bytes: number): void {
  const fd = openSync(path, "w");
  const piece = Buffer.alloc(MIB, 1);
  try {
    for (let taken = 0; taken < bytes; ) taken += writeSync(fd, piece, 0, Math.min(MIB, bytes - taken));
  } catch {
    // Full: that is what was asked for.
  } finally {
    closeSync(fd);
  }
}

async function hasHold(workspace: Workspace, agent: string): Promise<boolean> {
  return (await workspace.runs.show(agent)).hold !== null;
}

describe.runIf(mayMount)("a small disk", () => {
  it("R-000.11, R-000.32: a start below disk_refuse is refused before anything is made, with a hint", async () => {
    const disk = tmpfs("size=50m");
    const workspace = workspaceIn(disk);
    await expect(workspace.runs.start({ argv: ["true"] })).rejects.toMatchObject({
      code: "DISK_LOW",
      hint: expect.stringContaining("Free some space"),
    });
    expect(readdirSync(workspace.root).filter((name) => name.startsWith("TASK-"))).toEqual([]);
    expect(await workspace.runs.list({ all: true })).toEqual([]);
  });

  it("a start between disk_refuse and disk_warn warns and runs", async () => {
    const workspace = workspaceIn(tmpfs("size=200m"));
    const started = await workspace.runs.start({ argv: ["true"] });
    expect(started.warning).toContain("free");
    expect(started.phase).toBe("running");
  });

  for (const tier of ["auto", "subreaper"] as const) {
    it(`R-000.12, R-000.33: held at the floor, goes on when there is room, 0 bytes lost (tier ${tier})`, async () => {
      const disk = tmpfs("size=140m");
      const workspace = workspaceIn(disk, { ...SMALL, tier });
      fill(join(disk, "filler"), 90 * MIB);
      const { agent, task } = await workspace.runs.start({ argv: paced(8_000_000) });
      await until(() => hasHold(workspace, agent));
      const held = await workspace.runs.show(agent);
      expect(held).toMatchObject({ phase: "running", outcome: null, hold: { why: "disk" } });
      const standing = statSync(held.log).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(statSync(held.log).size).toBe(standing);
      rmSync(join(disk, "filler"));
      const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(30_000) });
      expect(ended).toMatchObject({ outcome: "completed", hold: null });
      expect((await rawLog(workspace, agent)).equals(Buffer.from(numbers(8_000_000)))).toBe(true);
      const events = linesOf(join(workspace.root, "events.log")).map((line) => JSON.parse(line).type);
      expect(events.filter((type) => /held|resumed/.test(type))).toEqual(["agent.held", "agent.resumed"]);
      expect(existsSync(join(workspace.root, task, "runs", agent, "1", "hold.json"))).toBe(false);
    });

    it(`R-000.12: a stop works while the run is held (tier ${tier})`, async () => {
      const disk = tmpfs("size=60m");
      const workspace = workspaceIn(disk, { ...SMALL, tier });
      const { agent } = await workspace.runs.start({ argv: paced(100_000_000) });
      await until(() => hasHold(workspace, agent));
      const [report] = await workspace.runs.stop([agent]);
      expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    });
  }

  it("R-000.12: disk_policy stop ends the agent in order, outcome limit, the file stays valid", async () => {
    const workspace = workspaceIn(tmpfs("size=80m"), { ...SMALL, disk_policy: "stop" });
    const { agent } = await workspace.runs.start({ argv: ["seq", "-f", '{"a":%.0f}', "100000000"] });
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect(ended?.outcome).toBe("limit");
    const log = await rawLog(workspace, agent);
    const whole = log.subarray(0, log.lastIndexOf(10) + 1).toString();
    const lines = whole.split("\n").filter(Boolean);
    expect(lines.findIndex((line, i) => line !== `{"a":${i + 1}}`)).toBe(-1);
  });

  it("R-000.12: on a disk that others fill to the last byte the facts are written all the same (ballast)", async () => {
    const disk = tmpfs("size=30m");
    const workspace = workspaceIn(disk, { disk_warn: "3M", disk_refuse: "2M", disk_floor: "1k" });
    const { agent } = await workspace.runs.start({
      argv: ["sh", "-c", `while [ ! -e ${disk}/go ]; do sleep 0.05; done; exit 7`],
    });
    writeFileSync(join(disk, "spare"), "");
    fill(join(disk, "filler"), 64 * MIB);
    // A name costs nothing on a full tmpfs; the agent sees it and ends.
    closeSync(openSync(join(disk, "go"), "w"));
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect(ended).toMatchObject({ exit: { code: 7 }, outcome: "failed" });
    rmSync(join(disk, "filler"));
  });

  it("R-000.32: no inode left: a start is refused; a running agent's end is still recorded", async () => {
    const disk = tmpfs("size=400m,nr_inodes=200");
    const workspace = workspaceIn(disk);
    const { agent } = await workspace.runs.start({
      argv: ["sh", "-c", `while [ -e ${disk}/go ]; do sleep 0.05; done; exit 5`],
    });
    writeFileSync(join(disk, "go"), "");
    for (let i = 0; ; i++) {
      try {
        writeFileSync(join(disk, `file-${i}`), "");
      } catch {
        break;
      }
    }
    await expect(workspace.runs.start({ argv: ["true"] })).rejects.toMatchObject({
      code: expect.stringMatching(/DISK_/),
    });
    rmSync(join(disk, "go"));
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect(ended?.exit.code).toBe(5);
  });

  it("R-000.25, R-000.26, R-000.32: a read-only file system is found before the start; fallbackDir is used and said", async () => {
    const disk = tmpfs("size=200m");
    const before = workspaceIn(disk);
    before.runs.makeTask("before");
    before.close();
    remount(disk, "ro");
    try {
      expect(() => openWorkspace({ workspace: before.root, make: true })).toThrow(
        expect.objectContaining({ code: "NOT_WRITABLE", hint: expect.stringContaining("--fallback-dir") }),
      );
      expect(openWorkspace({ workspace: before.root }).runs.tasks()).toHaveLength(1);
      const other = workspaceIn(disk, {}, { fallbackDir: join(folder(), ".agent-workspace") });
      expect(other.usedFallback).toBe(true);
      const { agent } = await other.runs.start({ argv: ["echo", "fine"] });
      await other.runs.wait([agent]);
      expect((await rawLog(other, agent)).toString()).toBe("fine\n");
    } finally {
      remount(disk, "rw");
    }
  });
});

describe("output and folders", () => {
  it("R-000.13: the output limit ends the run, outcome limit", async () => {
    const workspace = workspaceIn(folder(), { output_limit: "1M", grace: "500ms" });
    const { agent } = await workspace.runs.start({ argv: ["yes"] });
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect(ended).toMatchObject({ outcome: "limit", phase: "drained" });
  });

  it("R-000.13, R-000.15: by default no output is too much: a log of more than 2 GiB is let be, and its end is read at once", async () => {
    const workspace = workspaceIn(folder());
    // A hole in the file: nothing is written, and it is as long as if it were.
    const { agent } = await workspace.runs.start({
      argv: ["sh", "-c", "truncate -s 2200M /dev/stdout; echo; echo end; exit 7"],
    });
    const [ended] = await workspace.runs.wait([agent], { timeoutMs: patient(60_000) });
    expect(ended).toMatchObject({ outcome: "failed", exit: { code: 7 }, bytes: 2200 * 1024 ** 2 + 5 });
    const page = workspace.logs.page(agent, { tail: true, limit: 1 });
    expect(page.records).toMatchObject([{ text: "end" }]);
  });

  for (const what of ["the workspace", "the logs folder", "the run folder", "the log"]) {
    it(`R-000.33, R-000.34, R-000.35: ${what} deleted mid-run: remade, mirrored, 0 bytes lost`, async () => {
      const place = folder();
      const workspace = workspaceIn(place);
      const waits = `[ $i -ne 200 ] || until [ -e "${place}/go" ]; do sleep 0.02; done`;
      const { agent, task, log } = await workspace.runs.start({
        argv: ["sh", "-c", `i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo $i; ${waits}; sleep 0.005; done; exit 9`],
      });
      const run = join(workspace.root, task, "runs", agent, "1");
      const doomed = {
        "the workspace": workspace.root,
        "the logs folder": join(log, ".."),
        "the run folder": run,
        "the log": log,
      }[what] as string;
      await until(() => statSync(log).size > 200);
      rmSync(doomed, { recursive: true, maxRetries: 20, retryDelay: 5 });
      writeFileSync(join(place, "go"), "");
      await until(() => existsSync(join(run, "done.json")), 20_000);
      const ended = await workspace.runs.show(agent);
      expect(ended).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 9 } });
      expect((await rawLog(workspace, agent)).toString()).toBe(numbers(400));
      const done = readFact<DoneFact>({ sealed: `${run}.json` }, join(run, "done.json"));
      if (what !== "the run folder") expect(done?.mirrored).toBe(true);
      expect(done?.restored).toBeGreaterThan(0);
      const events = readFileSync(join(workspace.root, "events.log"), "utf8");
      expect(events.split('"type":"agent.restored"')).toHaveLength(2);
    });
  }

  it("R-000.9: a log that somebody cut goes on at its end; nothing is overwritten", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const script = `echo first; until [ -e "${place}/go" ]; do sleep 0.02; done; echo second`;
    const { agent, log } = await workspace.runs.start({ argv: ["sh", "-c", script] });
    await until(() => statSync(log).size > 0);
    const fd = openSync(log, "r+");
    ftruncateSync(fd, 0);
    closeSync(fd);
    writeFileSync(join(place, "go"), "");
    await workspace.runs.wait([agent]);
    expect((await rawLog(workspace, agent)).toString()).toBe("second\n");
  });
});

function linesOf(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").filter(Boolean);
}
