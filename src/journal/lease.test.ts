import { describe, expect, it } from "vitest";
import { MemoryEngine, MemoryStore } from "../../test/support/data/memory-engine.ts";
import type { Somebody } from "../process/identity.ts";
import { Lease, type LeaseOptions, type LeaseValue } from "./lease.ts";

const TTL = 1000;

/** Two processes over one store, with clocks that stand where the test puts them. */
function scene() {
  const store = new MemoryStore();
  const dead = new Set<number>();
  const player = (pid: number, more: Partial<LeaseOptions> = {}) => {
    const clock = { mono: pid * 1e6, wall: 1.7e12 };
    const engine = new MemoryEngine(store);
    const lease = new Lease(engine, {
      holder: `p${pid}`,
      process: { pid, start_ticks: 1, boot_id: "b", pid_ns: "n" },
      ttlMs: TTL,
      clock: { monoMs: () => clock.mono, wallMs: () => clock.wall },
      isGone: (who: Somebody) => dead.has(who.pid),
      ...more,
    });
    return { lease, clock, engine };
  };
  const value = (): LeaseValue => store.registers.get("leases/leader")?.value as LeaseValue;
  return { store, dead, player, value };
}

describe("a lease", () => {
  it("R-003.10, R-003.11: is taken from a silent holder after its time by the observer's own clock, not before", async () => {
    const { player, value } = scene();
    const [a, b] = [player(1), player(2)];
    await a.lease.step();
    expect(a.lease.term).toBe(1);
    await b.lease.step();
    b.clock.mono += TTL - 1;
    b.clock.wall += 24 * 3_600_000; // The wall clock decides nothing for an observer.
    await b.lease.step();
    expect(b.lease.term).toBeUndefined();
    b.clock.mono += 1;
    await b.lease.step();
    expect([b.lease.term, value().holder]).toEqual([2, "p2"]);
    await a.lease.step();
    expect(a.lease.term).toBeUndefined();
  });

  it("R-003.11: of a process that is gone is taken at once", async () => {
    const { player, dead } = scene();
    const [a, b] = [player(1), player(2)];
    await a.lease.step();
    await b.lease.step();
    expect(b.lease.term).toBeUndefined();
    dead.add(1);
    await b.lease.step();
    expect(b.lease.term).toBe(2);
  });

  it("that was given back is taken at once, and the one who gave it back does not lead", async () => {
    const { player } = scene();
    const [a, b] = [player(1), player(2)];
    await a.lease.step();
    await a.lease.resign();
    expect(a.lease.term).toBeUndefined();
    await b.lease.step();
    expect(b.lease.term).toBe(2);
  });

  it("is renewed after a quarter of its time, and a renewed one is not taken", async () => {
    const { player, store } = scene();
    const [a, b] = [player(1), player(2)];
    await a.lease.step();
    for (let i = 0; i < 20; i++) {
      for (const { clock } of [a, b]) clock.mono += TTL / 4;
      await b.lease.step();
      await a.lease.step();
    }
    expect([a.lease.term, b.lease.term]).toEqual([1, undefined]);
    expect(store.registers.get("leases/leader")?.rev).toBe(21);
  });

  it.each([["mono"], ["wall"]] as const)(
    "is not trusted by its holder when the %s clock went on too far",
    async (which) => {
      const { player } = scene();
      const a = player(1);
      await a.lease.step();
      a.clock[which] += 0.79 * TTL;
      expect(a.lease.term).toBe(1);
      a.clock[which] += 0.01 * TTL;
      expect(a.lease.term).toBeUndefined();
      expect(await a.lease.append([])).toBe(false);
      await a.lease.step(); // It is still ours: one renewal and we lead on, in the same term.
      expect(a.lease.term).toBe(1);
    },
  );

  it.each([3_600_000, -3_600_000, 86_400_000, -86_400_000])(
    "survives a wall clock set by %i ms without an election",
    async (jump) => {
      const { player, store } = scene();
      const [a, b] = [player(1), player(2)];
      await a.lease.step();
      await b.lease.step();
      a.clock.wall += jump;
      for (let i = 0; i < 8; i++) {
        for (const { clock } of [a, b]) clock.mono += TTL / 8;
        await a.lease.step();
        await b.lease.step();
      }
      expect([a.lease.term, b.lease.term]).toEqual([1, undefined]);
      expect(store.lines.filter(({ type }) => type === "leader_election")).toHaveLength(1);
    },
  );

  it("whose election could not be written is no leadership; the next step finishes the same election", async () => {
    const { player, store } = scene();
    const a = player(1);
    const { append } = a.engine;
    a.engine.append = () => Promise.reject(new Error("no room"));
    await expect(a.lease.step()).rejects.toThrow("no room");
    expect(a.lease.term).toBeUndefined();
    a.engine.append = append;
    await a.lease.step();
    expect(a.lease.term).toBe(1);
    expect(store.lines.map(({ type }) => type)).toEqual(["leader_election"]);
    expect(store.registers.get("leases/leader/term-1")?.value).toEqual({ event: store.lines[0]?.id });
  });

  it("whose register was taken away gets a term that was never given", async () => {
    const { player, store } = scene();
    const a = player(1);
    await a.lease.step();
    store.registers.delete("leases/leader");
    await a.lease.step();
    expect(a.lease.term).toBe(2);
  });

  it.each([null, {}, "x", { holder: 3 }, { holder: "p9", ttl_ms: -1, term: "many" }])(
    "of the value %j holds nobody up",
    async (value) => {
      const { player, store } = scene();
      store.registers.set("leases/leader", { value, rev: 4 });
      const a = player(1);
      await a.lease.step();
      a.clock.mono += TTL;
      a.clock.wall += TTL;
      await a.lease.step();
      expect(a.lease.term).toBe(1);
    },
  );
});
