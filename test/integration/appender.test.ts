import { fork, spawnSync } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Appender } from "../../src/disk/appender.ts";
import { syncedPaths } from "../support/fault/synced.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";

const WORKER = fileURLToPath(new URL("../support/worker/appender-worker.ts", import.meta.url));

function lines(file: string): unknown[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function leadsTo(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}

describe("many records to one file", { timeout: patient(60_000) }, () => {
  it("R-000.4, R-000.41: what was resolved is in the file, in order", async () => {
    const file = join(folder(), "a", "b", "events.log");
    const appender = new Appender(file);
    await Promise.all(Array.from({ length: 300 }, (_, n) => appender.append([{ n }, { n, second: true }])));
    expect(lines(file)).toEqual(Array.from({ length: 300 }, (_, n) => [{ n }, { n, second: true }]).flat());
    appender.close();
  });

  it("R-000.6: a torn tail of another writer is closed, not glued to the next record", async () => {
    const file = join(folder(), "events.log");
    writeFileSync(file, '{"whole":1}\n{"torn":');
    const appender = new Appender(file);
    await appender.append([{ next: 1 }]);
    appender.close();
    expect(readFileSync(file, "utf8")).toBe('{"whole":1}\n{"torn":\n{"next":1}\n');
  });

  it("R-000.33, R-000.41: a deleted file or folder is made again", async () => {
    const file = join(folder(), "deep", "events.log");
    const appender = new Appender(file);
    await appender.append([{ n: 1 }]);
    rmSync(dirname(file), { recursive: true });
    await appender.append([{ n: 2 }]);
    appender.close();
    expect(lines(file)).toEqual([{ n: 2 }]);
  });

  it("R-000.4: closed before the sync or in the middle of it, it acknowledges what is on the disk, and then closes its file", async () => {
    const file = join(folder(), "events.log");
    const synced = syncedPaths();
    const open = (): number => readdirSync("/proc/self/fd").filter((fd) => leadsTo(fd) === file).length;
    const first = new Appender(file);
    const before = first.append([{ n: 1 }]);
    first.close();
    await before;
    expect(synced.filter((path) => path === file)).toHaveLength(1);
    const second = new Appender(file);
    // All four threads are busy: the sync waits for one of them, and the file is closed meanwhile.
    const busy = [1, 2, 3, 4].map(() => promisify(pbkdf2)("x", "y", 200_000, 64, "sha512"));
    const during = second.append([{ n: 2 }]);
    await Promise.resolve();
    const during2 = second.append([{ n: 3 }]);
    second.close();
    await Promise.all([during, during2, ...busy]);
    expect(synced.filter((path) => path === file)).toHaveLength(3);
    expect(lines(file)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(open()).toBe(0);
  });

  it("R-000.41: who waits for records that a close could not write is told so", async () => {
    const appender = new Appender("/dev/full");
    const waiting = expect(appender.append([{ n: 1 }])).rejects.toMatchObject({ code: "DISK_FULL" });
    expect(() => appender.close()).toThrow(expect.objectContaining({ code: "DISK_FULL" }));
    await waiting;
  });

  it("R-000.5: what was taken along is written when the process exits", async () => {
    const file = join(folder(), "events.log");
    const child = fork(WORKER, ["exit", file, "1000"]);
    expect(await once(child, "exit")).toEqual([3, null]);
    expect(lines(file)).toHaveLength(1000);
  });

  it("R-000.7: 16 processes, records of 100 B to 1 MB: none torn, none lost, each in its order", async () => {
    const file = join(folder(), "events.log");
    const children = Array.from({ length: 16 }, (_, i) => fork(WORKER, ["mixed", file, `w${i}`, "40"]));
    expect(await Promise.all(children.map((child) => once(child, "exit")))).toEqual(children.map(() => [0, null]));
    const seen = lines(file) as { source: string; line: number; text: string }[];
    for (const i of children.keys()) {
      const own = seen.filter(({ source }) => source === `w${i}`);
      expect(own.map(({ line }) => line)).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(own.every(({ text, line }) => text.length === [100, 4096, 65_536, 1_000_000][line % 4])).toBe(true);
    }
  });

  it("R-000.6: kill -9 of writers at random: nothing glued, nothing invented, what was acknowledged is there", async () => {
    const file = join(folder(), "events.log");
    const acknowledged = new Set<string>();
    for (let round = 0; round < 8; round++) {
      const children = [0, 1].map((i) => {
        const child = fork(WORKER, ["endless", file, `r${round}w${i}`]);
        child.on("message", (id) => acknowledged.add(String(id)));
        return child;
      });
      // However long a busy machine takes to start them.
      await Promise.all(children.map((child) => once(child, "message")));
      await new Promise((resolve) => setTimeout(resolve, round * 20));
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map((child) => once(child, "exit")));
    }
    appendFileSync(file, "\n");
    const whole = readFileSync(file, "utf8").split("\n").filter(Boolean);
    const parsed = whole.map((line) => {
      try {
        return JSON.parse(line) as { id: string; text: string };
      } catch {
        return undefined;
      }
    });
    const ids = parsed.flatMap((record) => (record ? [record.id] : []));
    expect(parsed.filter((record) => record === undefined).length).toBeLessThanOrEqual(16);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...acknowledged].filter((id) => !ids.includes(id))).toEqual([]);
    expect(acknowledged.size).toBeGreaterThan(0);
  });

  const strace = existsSync("/usr/bin/strace");
  if (!strace) console.warn("SKIPPED: there is no strace. Next: apt-get install strace");
  it.skipIf(!strace)("R-000.4: no write(2) of ours ends inside a record (strace)", () => {
    const place = folder();
    const file = join(place, "events.log");
    const trace = join(place, "trace");
    spawnSync(
      "strace",
      [
        "-f",
        "-e",
        "trace=write,pwrite64",
        "-s",
        "4",
        "-y",
        "-o",
        trace,
        process.execPath,
        WORKER,
        "exit",
        file,
        "5000",
      ],
      { timeout: patient(50_000) },
    );
    const sizes = readFileSync(trace, "utf8")
      .split("\n")
      .filter((line) => line.includes("events.log"))
      .map((line) => Number(/= (\d+)$/.exec(line)?.[1]));
    const bytes = readFileSync(file);
    let at = 0;
    for (const size of sizes) {
      at += size;
      expect(bytes[at - 1]).toBe(10);
    }
    expect(at).toBe(bytes.length);
    expect(sizes.length).toBeGreaterThan(1);
  });
});
