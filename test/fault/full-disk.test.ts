import { execFileSync } from "node:child_process";
import { readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../src/core/config/config.ts";
import { newTaskId } from "../../src/core/ids.ts";
import { iso } from "../../src/core/time.ts";
import { append } from "../../src/disk/append.ts";
import { preflight } from "../../src/disk/free-space.ts";
import { replace } from "../../src/disk/replace.ts";
import { findOrMakeWorkspace } from "../../src/disk/workspace.ts";
import { Registry } from "../../src/registry/registry.ts";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";

/** Takes all room but what `ballast` gives back when it is removed. */
function fill(disk: string, ballastBytes: number): string {
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(ballastBytes));
  try {
    for (;;) writeFileSync(join(disk, "filler"), Buffer.alloc(4096), { flag: "a" });
  } catch {
    return ballast;
  }
}

function parsed(path: string): unknown[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line).n];
    } catch {
      return [];
    }
  });
}

describe.skipIf(!mayMount)("a full disk", () => {
  it("R-000.4, R-000.41: an append says DISK_FULL, keeps every whole record, and goes on when there is room", () => {
    const disk = tmpfs("size=256k");
    const path = join(disk, "events.log");
    const ballast = fill(disk, 64 * 1024);
    unlinkSync(ballast);
    const record = (n: number) => ({ n, padding: "x".repeat(5000) });
    let written = 0;
    expect(() => {
      for (; written < 1000; written++) append(path, [record(written)]);
    }).toThrow(expect.objectContaining({ code: "DISK_FULL", exitCode: 5, hint: expect.any(String) }));
    const before = statSync(path).size;
    unlinkSync(join(disk, "filler"));
    append(path, [record(written)]);
    expect(statSync(path).size).toBeGreaterThan(before);
    expect(parsed(path)).toEqual(Array.from({ length: written + 1 }, (_, n) => n));
  });

  it("a fact that cannot be written leaves the old one", () => {
    const disk = tmpfs("size=128k");
    const path = join(disk, "fact.json");
    replace(path, '"old"');
    fill(disk, 4096);
    expect(() => replace(path, JSON.stringify("x".repeat(50_000)))).toThrow(
      expect.objectContaining({ code: "DISK_FULL" }),
    );
    expect(readFileSync(path, "utf8")).toBe('"old"');
  });

  it("the registry says so too and is sound afterwards", () => {
    const disk = tmpfs("size=512k");
    const registry = Registry.open(join(disk, "midwatch.db"));
    onTestFinished(() => registry.close());
    fill(disk, 4096);
    const row = () => ({ id: newTaskId(), description: "x".repeat(20_000), created_at: iso(), data: {} });
    expect(() => {
      for (let i = 0; i < 100; i++) registry.putTask(row());
    }).toThrow(expect.objectContaining({ code: "DISK_FULL" }));
    unlinkSync(join(disk, "filler"));
    registry.putTask(row());
    expect(registry.integrity()).toEqual([]);
  });

  it("R-000.11: a start is refused when there is too little room, or too few inodes", () => {
    const low = { code: "DISK_LOW", exitCode: 5, hint: expect.any(String) };
    expect(() => preflight(tmpfs("size=50m"), loadConfig())).toThrow(expect.objectContaining(low));
    const few = () => preflight(tmpfs("size=600m,nr_inodes=40"), loadConfig());
    expect(few).toThrow(expect.objectContaining({ ...low, message: expect.stringContaining("inodes") }));
    expect(preflight(tmpfs("size=300m"), loadConfig()).state).toBe("warning");
  });
});

describe.skipIf(!mayMount)("a read-only disk", () => {
  it("R-000.26, R-000.32: is found by a write test before anything is started, and the error says what to do", () => {
    const disk = tmpfs("size=1m");
    const root = findOrMakeWorkspace({ env: {}, cwd: disk });
    execFileSync("/bin/mount", ["-o", "remount,ro", disk]);
    const error = { code: "NOT_WRITABLE", exitCode: 5, hint: expect.stringContaining("--fallback-dir") };
    expect(() => findOrMakeWorkspace({ env: {}, cwd: disk })).toThrow(expect.objectContaining(error));
    expect(() => findOrMakeWorkspace({ explicit: join(disk, "new"), env: {}, cwd: disk })).toThrow(
      expect.objectContaining(error),
    );
    expect(Registry.open(join(root, "midwatch.db"), { readOnly: true }).needsRebuild).toBe(true);
  });
});
