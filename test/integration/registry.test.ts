import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { MidwatchError } from "../../src/core/errors.ts";
import { newTaskId } from "../../src/core/ids.ts";
import { iso } from "../../src/core/time.ts";
import { layout } from "../../src/disk/layout.ts";
import { rebuildFrom } from "../../src/facts/folders.ts";
import { Registry } from "../../src/registry/registry.ts";
import { Registries } from "../../src/workspace/context.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";

const WORKER = fileURLToPath(new URL("../support/worker/registry-worker.ts", import.meta.url));

function worker(...args: string[]): ChildProcess {
  const child = fork(WORKER, args);
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

function open(path: string, busyMs = 2000): Registry {
  const registry = Registry.open(path, { busyMs });
  onTestFinished(() => registry.close());
  return registry;
}

describe("many processes", () => {
  it("R-004.7: 8 that insert at once lose no row, make no error and do not starve", async () => {
    const path = join(folder(), "midwatch.db");
    const each = 200;
    const children = Array.from({ length: 8 }, (_, i) => worker("insert", path, `w${i}`, String(each)));
    const ends = await Promise.all(
      children.map(async (child) => [await once(child, "message"), await once(child, "exit")]),
    );
    expect(ends.map(([, exit]) => exit)).toEqual(children.map(() => [0, null]));
    const registry = open(path);
    expect(registry.list()).toHaveLength(8 * each);
    expect(registry.integrity()).toEqual([]);
    // With SQLite's own waiting the slowest call took over a second.
    expect(Math.max(...ends.map(([message]) => Number(message?.[0])))).toBeLessThan(patient(5000));
  });

  it("R-004.23: of 8 that find a damaged database one puts it aside, and none loses a row", async () => {
    const dir = folder();
    const path = join(dir, "midwatch.db");
    writeFileSync(path, Buffer.alloc(20_000, "garbage"));
    const children = Array.from({ length: 8 }, (_, i) => worker("open", path, `w${i}`));
    const ends = await Promise.all(children.map((child) => once(child, "exit")));
    expect(ends).toEqual(children.map(() => [0, null]));
    expect(open(path).list()).toHaveLength(8);
    expect(readdirSync(dir).filter((name) => /corrupt\.\w+$/.test(name))).toHaveLength(1);
  });
});

describe("a process that stands still in a write transaction", () => {
  async function stopped(): Promise<{ path: string; holder: ChildProcess }> {
    const path = join(folder(), "midwatch.db");
    const before = open(path);
    before.putTask({ id: newTaskId(), description: "before", created_at: iso(), data: {} });
    const holder = worker("hold", path);
    await once(holder, "message");
    holder.kill("SIGSTOP");
    return { path, holder };
  }

  it("does not keep others from opening and reading", async () => {
    const { path } = await stopped();
    const registry = open(path);
    expect(registry.tasks().map(({ description }) => description)).toEqual(["before"]);
    expect(Registry.open(path, { readOnly: true }).tasks()).toHaveLength(1);
  });

  it("is named to those who have to write, and its death frees them", async () => {
    const { path, holder } = await stopped();
    const registry = open(path, 200);
    const row = { id: newTaskId(), description: "after", created_at: iso(), data: {} };
    const begun = performance.now();
    let error: unknown;
    try {
      registry.putTask(row);
    } catch (thrown) {
      error = thrown;
    }
    expect(performance.now() - begun).toBeLessThan(patient(1000));
    expect(error).toBeInstanceOf(MidwatchError);
    expect(error).toMatchObject({
      code: "REGISTRY_BUSY",
      exitCode: 5,
      retryable: true,
      data: { holder: { pid: holder.pid } },
    });
    expect(String(error)).toContain(`process ${holder.pid} (`);
    const gone = once(holder, "exit");
    holder.kill("SIGKILL");
    await gone;
    registry.putTask(row);
    expect(registry.tasks()).toHaveLength(2);
  });
});

it("R-004.8: a reader whose database is taken away looks again; a writer, which cannot know how far it came, says so", () => {
  const registries = new Registries(layout(lab().root), rebuildFrom);
  const cause = Object.assign(new Error("disk I/O error"), { errcode: 10 });
  let looks = 0;
  const taken = (): number => {
    if (++looks < 3) throw new MidwatchError("REGISTRY_BUSY", "taken away", { cause });
    return looks;
  };
  expect(registries.use("reader", taken)).toBe(3);
  looks = 0;
  expect(() => registries.use("writer", taken)).toThrow("taken away");
  registries.close();
});
