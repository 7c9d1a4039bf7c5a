/** What every engine of the journal has to do, whatever it stands on. `open` gives one more handle on the same store. */
import { describe, expect, it } from "vitest";
import { uuidv7 } from "../../src/core/ids.ts";
import type { BadLine, Engine, Stored } from "../../src/journal/engine.ts";
import type { JournalEvent } from "../../src/journal/event.ts";

export interface Opened {
  engine: Engine;
  /** Another handle on the same store, as another process would have. */
  another(): Engine;
}

export function event(content: string, more: Partial<JournalEvent> = {}): JournalEvent {
  const timestamp = "2026-11-15T19:00:00.000Z";
  return { v: 1, id: uuidv7(), interaction: 1, actor: "a", type: "note", content, timestamp, ...more };
}

async function all(items: AsyncIterable<Stored | BadLine>): Promise<Stored[]> {
  const found: Stored[] = [];
  for await (const item of items) if ("event" in item) found.push(item);
  return found;
}

const contents = (stored: readonly Stored[]): string[] => stored.map((one) => one.event.content);

export function engineContract(name: string, open: () => Opened): void {
  describe(`journal of the ${name} engine`, () => {
    it("gives back what was appended, in order, also through another handle", async () => {
      const { engine, another } = open();
      await engine.append([event("1"), event("2", { data: { deep: [1] }, task: "t", own: true })]);
      await engine.append([event("3")]);
      const read = await all(another().read());
      expect(contents(read)).toEqual(["1", "2", "3"]);
      expect(read[1]?.event).toMatchObject({ data: { deep: [1] }, task: "t", own: true });
    });

    it("goes on behind a cursor, and an empty journal is empty", async () => {
      const { engine } = open();
      expect(await all(engine.read())).toEqual([]);
      await engine.append([event("1"), event("2"), event("3")]);
      const [first, second] = await all(engine.read());
      expect(contents(await all(engine.read({ after: first?.next })))).toEqual(["2", "3"]);
      expect(second?.seq).toBeGreaterThan(first?.seq ?? Number.NaN);
    });

    it("knows where the last lines begin, and whether a cursor is one of this journal", async () => {
      const { engine, another } = open();
      expect(await engine.tail(5)).toBeUndefined();
      await engine.append(Array.from({ length: 20 }, (_, i) => event(String(i))));
      const tail = contents(await all(engine.read({ after: await engine.tail(5) })));
      expect(tail.slice(-5)).toEqual(["15", "16", "17", "18", "19"]);
      expect(await engine.tail(100)).toBeUndefined();
      const last = (await all(engine.read())).at(-1);
      expect(await another().holds(last?.next ?? "")).toBe(true);
      expect(await open().engine.holds(last?.next ?? "")).toBe(false);
    });

    it("gives an id once although it was appended twice", async () => {
      const { engine } = open();
      const once = event("once");
      await engine.append([once]);
      await engine.append([event("between"), once]);
      expect(contents(await all(engine.read()))).toEqual(["once", "between"]);
    });

    it("keeps the order of each of several writers at once, and loses nothing", async () => {
      const { another } = open();
      const writers = ["a", "b", "c", "d"];
      await Promise.all(
        writers.map(async (actor) => {
          const engine = another();
          for (let i = 0; i < 25; i++) await engine.append([event(String(i), { actor })]);
        }),
      );
      const read = await all(another().read());
      const expected = Array.from({ length: 25 }, (_, i) => String(i));
      for (const actor of writers) expect(contents(read.filter((one) => one.event.actor === actor))).toEqual(expected);
    });

    it("follows until it is told to end", async () => {
      const { engine, another } = open();
      await engine.append([event("1")]);
      const ending = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        for await (const item of another().read({ follow: true, signal: ending.signal })) {
          if ("event" in item) seen.push(item.event.content);
          if (seen.length === 1) await engine.append([event("2")]);
          if (seen.length === 2) ending.abort();
        }
      })();
      await following;
      expect(seen).toEqual(["1", "2"]);
    });
  });

  describe(`registers of the ${name} engine`, () => {
    it("compare and set: the first wins, the second is told", async () => {
      const { engine, another } = open();
      const other = another();
      expect(await engine.get("registers/x")).toBeUndefined();
      const first = await engine.set("registers/x", { a: 1 }, 0);
      expect(first).toBeGreaterThan(0);
      expect(await other.set("registers/x", { a: 2 }, 0)).toBeUndefined();
      expect(await other.get("registers/x")).toEqual({ value: { a: 1 }, rev: first });
      const second = await other.set("registers/x", { a: 2 }, first ?? 0);
      expect(second).toBeGreaterThan(first ?? 0);
      expect(await engine.set("registers/x", { a: 3 }, first ?? 0)).toBeUndefined();
      expect(await engine.get("registers/x")).toEqual({ value: { a: 2 }, rev: second });
    });

    it("count exactly: four handles add up, each change once", async () => {
      const { another } = open();
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          const engine = another();
          for (let done = 0; done < 15; ) {
            const now = await engine.get<number>("registers/count");
            if ((await engine.set("registers/count", (now?.value ?? 0) + 1, now?.rev ?? 0)) !== undefined) done++;
          }
        }),
      );
      expect((await another().get("registers/count"))?.value).toBe(60);
    });

    it("what is written once stays: a term is proven by its first mark", async () => {
      const { engine, another } = open();
      expect(await engine.set("leases/leader/term-1", { event: "a" }, 0)).toBe(1);
      expect(await another().set("leases/leader/term-1", { event: "b" }, 0)).toBeUndefined();
      expect((await another().get("leases/leader/term-1"))?.value).toEqual({ event: "a" });
    });

    it("lists keys by prefix, and only those", async () => {
      const { engine } = open();
      for (const key of ["leases/leader", "leases/leader/term-1", "registers/paused/a", "heartbeats/up-1"])
        await engine.set(key, 1, 0);
      expect((await engine.keys("leases/")).sort()).toEqual(["leases/leader", "leases/leader/term-1"]);
      expect(await engine.keys("leases/leader/term-")).toEqual(["leases/leader/term-1"]);
      expect(await engine.keys("registers/paused/")).toEqual(["registers/paused/a"]);
      expect(await engine.keys("heartbeats/")).toEqual(["heartbeats/up-1"]);
      expect(await engine.keys("nothing")).toEqual([]);
    });

    it("null empties one, and it can be set again", async () => {
      const { engine } = open();
      for (const key of ["registers/x", "heartbeats/x"]) {
        const rev = await engine.set(key, { a: 1 }, 0);
        expect(await engine.set(key, null, rev ?? 0)).toBeDefined();
        const empty = await engine.get(key);
        expect(empty?.value ?? null).toBeNull();
        expect(await engine.set(key, { a: 2 }, empty?.rev ?? 0)).toBeDefined();
        expect((await engine.get(key))?.value).toEqual({ a: 2 });
      }
    });

    it("tells what it is", async () => {
      const { engine } = open();
      expect(await engine.health()).toMatchObject({ problems: [], durable: expect.any(Boolean), engine: name });
      await engine.close();
    });
  });
}
