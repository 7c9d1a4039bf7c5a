import { describe, expect, it } from "vitest";
import { type HostRecord, isHostFact, parseLabels, place } from "./host.ts";
import { isLoopback } from "./hub.ts";
import { fleetNames } from "./names.ts";

function host(name: string, more: Partial<HostRecord> = {}): HostRecord {
  return {
    ...{ v: 1, host: name, identity: name, since: "", at: "", version: "", labels: {}, cpus: 4, load: 1 },
    ...{ memory_bytes: 100, memory_free_bytes: 90, disk_free_bytes: 1, running: 0, max_running: 8, full: false },
    ...{ reachable: true, draining: false, signature: "signed" as const },
    ...more,
  };
}

describe("placing an agent", () => {
  it("takes the least busy of those that fit; what is scarcest counts", () => {
    const hosts = [host("a", { load: 3 }), host("b", { running: 1 }), host("c", { memory_free_bytes: 5 })];
    expect(place(hosts, {}).host).toBe("b");
    expect(place([host("b"), host("a")], {}).host).toBe("a");
  });

  it("looks at labels, with or without their value", () => {
    const hosts = [host("a", { labels: parseLabels("zone=eu") }), host("b", { labels: parseLabels("zone=us, gpu") })];
    expect(place(hosts, { on: ["gpu"] }).host).toBe("b");
    expect(place(hosts, { on: ["zone=eu"] }).host).toBe("a");
    expect(() => place(hosts, { on: ["zone=eu", "gpu"] })).toThrow("a: not labelled gpu; b: not labelled zone=eu");
    expect(() => parseLabels("a b")).toThrow("is not a label");
  });

  it("says of each why it does not fit", () => {
    const hosts = [
      host("a", { reachable: false }),
      host("b", { draining: true }),
      host("c", { full: true }),
      host("d", { running: 8 }),
    ];
    expect(() => place(hosts, {})).toThrow(
      "a: unreachable; b: draining; c: its disk is full; d: as many agents as it may run",
    );
    expect(place(hosts, { host: "d" }).host).toBe("d");
    expect(() => place([], {})).toThrow("there is none");
  });
});

it("a host that only looks like one is none, and one that does not sign gets no agent unless it is named", () => {
  expect(isHostFact(host("a"))).toBe(true);
  for (const bad of [{ load: "x" }, { labels: null }, { labels: { a: 1 } }, { host: "a/b" }, { v: 2 }, { at: 1 }])
    expect([bad, isHostFact({ ...host("a"), ...bad })]).toEqual([bad, false]);
  for (const bad of [null, undefined, 1, "x", []]) expect(isHostFact(bad)).toBe(false);
  const spend = { from: "", until: "", usd: 1, estimated_usd: 0, tokens: 1, unpriced: 0 };
  expect(isHostFact({ ...host("a"), spend: { day: spend, week: spend } })).toBe(true);
  for (const bad of [
    {},
    { day: spend },
    { day: spend, week: { ...spend, usd: -5 } },
    { day: spend, week: { ...spend, usd: "1" } },
  ])
    expect([bad, isHostFact({ ...host("a"), spend: bad })]).toEqual([bad, false]);
  const old = host("b", { signature: "missing" });
  expect(() => place([old], {})).toThrow("b: what it tells is not signed");
  expect(place([old], { host: "b" }).host).toBe("b");
  expect(place([host("c", { signature: "none" })], {}).host).toBe("c");
});

it("keys of registers become subjects and come back", () => {
  const { registers, events } = fleetNames("f");
  for (const key of ["leases/leader/term-1", "heartbeats/a b.c", "registers/ü=/x"])
    expect(registers.key(registers.subject(key))).toBe(key);
  expect(registers.subject("hosts/a")).toBe("$KV.midwatch-f.hosts.a");
  expect(events.of("a.b")).toMatch(/^midwatch\.f\.ev\.x[0-9a-f]{16}$/);
  expect(() => fleetNames("A B")).toThrow("cannot be the name");
});

it("knows which servers only this machine reaches", () => {
  for (const server of ["nats://127.0.0.1:4222", "localhost:4222", "tls://[::1]:4222", "nats://127.1.2.3"])
    expect([server, isLoopback(server)]).toEqual([server, true]);
  for (const server of [
    "nats://hub:4222",
    "10.0.0.1",
    "nats://127.0.0.1.example.com",
    "nats://localhost.example.com",
    "::",
    "",
  ])
    expect([server, isLoopback(server)]).toEqual([server, false]);
});
