import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { MemoryEngine, MemoryStore } from "../../test/support/data/memory-engine.ts";
import { MidwatchError } from "../core/errors.ts";
import { Pause, type PauseOptions, paused, resumeAll } from "./pause.ts";

/** A disk that is full for the first so many tries; `journalToo`: of the journal as well. */
function scene(
  failures: number,
  { journalToo = false, ...more }: Partial<PauseOptions> & { journalToo?: boolean } = {},
) {
  const store = new MemoryStore();
  const engine = new MemoryEngine(store);
  const full = (): MidwatchError => new MidwatchError("DISK_FULL", "There is no room.", { hint: "Free some." });
  let tries = 0;
  if (journalToo) {
    const { append, set } = engine;
    engine.append = async (events) => {
      if (tries <= failures) throw full();
      await append.call(engine, events);
    };
    engine.set = async (...args) => {
      if (tries <= failures) throw full();
      return await set.apply(engine, args);
    };
  }
  const told: string[] = [];
  const pause = new Pause(engine, {
    actor: "up-1",
    mode: "auto",
    tell: (text) => told.push(text),
    secondMs: 4,
    ...more,
  });
  const act = (): string => {
    if (++tries <= failures) throw full();
    return "done";
  };
  return {
    engine,
    told,
    pause,
    act,
    tries: () => tries,
    errors: () => store.lines.filter(({ type }) => type === "error"),
  };
}

it("R-003.14: a write error is told at once, becomes an error event, and the work is done when there is room", async () => {
  const { pause, act, told, errors } = scene(2);
  expect(await pause.persist("Writing", act)).toBe("done");
  expect(told[0]).toMatch(/Writing failed: There is no room\. .*1, 2 and 4 s/);
  expect(told.at(-1)).toMatch(/works again/);
  expect(told.join()).not.toContain("offline");
  expect(errors()).toMatchObject([
    { actor: "up-1", content: "Writing failed: There is no room.", data: { code: "DISK_FULL" } },
  ]);
});

it("R-003.12, R-003.14: after three tries it calls itself offline, shows so in a register, and goes on by itself", async () => {
  const { pause, act, told, engine, tries } = scene(6);
  let shown: unknown;
  const looking = setInterval(async () => {
    shown ??= (await paused(engine))[0];
  }, 1);
  expect(await pause.persist("Writing", act)).toBe("done");
  clearInterval(looking);
  expect(tries()).toBe(7);
  expect(told.filter((text) => text.startsWith("offline"))).toHaveLength(1);
  expect(shown).toMatchObject({ actor: "up-1", what: "Writing", code: "DISK_FULL", mode: "auto" });
  expect(await paused(engine)).toEqual([]);
});

it("R-003.14: when the journal itself cannot be written, the error event follows as soon as it can", async () => {
  const { pause, act, errors } = scene(5, { journalToo: true });
  await pause.persist("Writing", act);
  expect(errors()).toMatchObject([{ content: expect.stringMatching(/failed: .* It works again since/) }]);
});

it("R-003.14: with pause: manual it waits for a person, though it could be written", async () => {
  const { pause, act, engine, tries, told } = scene(4, { mode: "manual" });
  const working = pause.persist("Writing", act);
  while ((await paused(engine)).length === 0) await sleep(1);
  const before = tries();
  await sleep(60);
  expect(tries()).toBe(before);
  expect(told.join()).toContain("midwatch health --resume");
  expect(await resumeAll(engine)).toEqual(["up-1"]);
  expect(await working).toBe("done");
});

it("throws at once what is no write error, and ends when it is told to", async () => {
  const { pause } = scene(0);
  await expect(
    pause.persist("Thinking", () => {
      throw new TypeError("oops");
    }),
  ).rejects.toThrow("oops");
  const ending = new AbortController();
  const other = scene(1e9, { signal: ending.signal, secondMs: 1000 });
  setTimeout(() => ending.abort(), 20);
  await expect(other.pause.persist("Writing", other.act)).rejects.toMatchObject({ code: "DISK_FULL" });
});
