import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { event } from "../../test/contract/engine.ts";
import { MemoryEngine } from "../../test/support/data/memory-engine.ts";
import { folder } from "../../test/support/folder.ts";
import { parseAgentId } from "../core/ids.ts";
import { layout } from "../disk/layout.ts";
import { checkpointFile } from "./checkpoint.ts";
import { consume } from "./consume.ts";

const AGENT = parseAgentId("worker-1");

function scene() {
  const root = folder();
  const engine = new MemoryEngine();
  const seen: string[] = [];
  const go = (until = Number.POSITIVE_INFINITY): Promise<number> =>
    consume(engine, checkpointFile(layout(root), AGENT), ({ content }) => {
      if (seen.length >= until) throw new Error("crash");
      seen.push(content);
    });
  const say = (interaction: number, content: string) => engine.append([event(content, { interaction })]);
  return { engine, seen, go, say, file: join(root, "agent-worker-1.checkpoint") };
}

describe("a consumer", () => {
  it("R-003.19, R-003.20: goes on behind what it handled last; its checkpoint begins with the interaction's number", async () => {
    const { seen, go, say, file } = scene();
    for (let n = 1; n <= 5; n++) await say(n, `${n}`);
    await expect(go(3)).rejects.toThrow("crash");
    expect(readFileSync(file, "utf8").split("\n")[0]).toBe("3");
    expect(await go()).toBe(2);
    await say(2, "late");
    expect(await go()).toBe(1);
    expect(seen).toEqual(["1", "2", "3", "4", "5", "late"]);
    expect(readFileSync(file, "utf8").split("\n")[0]).toBe("5");
    expect(await go()).toBe(0);
  });

  it("R-003.20: takes a number that a script wrote: the interactions above it are handled", async () => {
    const { seen, go, say, file } = scene();
    for (const n of [1, 2, 3, 2, 4]) await say(n, `${n}`);
    writeFileSync(file, "2\n");
    expect(await go()).toBe(2);
    expect(seen).toEqual(["3", "4"]);
    await say(5, "5");
    expect(await go()).toBe(1);
  });

  it("handles a copy of an event once, also when it comes after a restart", async () => {
    const { engine, seen, go } = scene();
    const one = event("one");
    await engine.append([one]);
    await go();
    await engine.append([one, event("two")]);
    expect(await go()).toBe(1);
    expect(seen).toEqual(["one", "two"]);
  });

  it("is told when its checkpoint is no number, and begins anew without one", async () => {
    const { go, say, file } = scene();
    await say(1, "1");
    writeFileSync(file, "three\n");
    await expect(go()).rejects.toMatchObject({ code: "BAD_NUMBER" });
  });
});
