import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { Forwarder } from "../../src/nats/forward.ts";
import { Hub } from "../../src/nats/hub.ts";
import { fleetNames } from "../../src/nats/names.ts";
import { Seals } from "../../src/nats/signed/seals.ts";
import { folder } from "../support/folder.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";

describe.skipIf(!hasNats("current"))("what a host wrote goes to the hub", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  function journal(): EmbeddedEngine {
    const engine = new EmbeddedEngine(layout(folder()));
    onTestFinished(() => engine.close());
    return engine;
  }

  function note(content: string) {
    return makeEvent({ interaction: 1, actor: "a", type: "note", content });
  }

  async function forwarder(fleet: string, host: string, log: EmbeddedEngine): Promise<Forwarder> {
    const hub = await Hub.open({ servers: [server.url], name: "test" });
    onTestFinished(() => hub.close());
    const seals = new Seals({ fleet, signer: undefined, people: [] });
    return new Forwarder({ hub, names: fleetNames(fleet), seals, host, log, mask: () => (event) => event });
  }

  async function atHub(fleet: string): Promise<{ origin: unknown; content: string }[]> {
    const engine = new NatsEngine({ servers: [server.url], name: "test", fleet, origin: "reader" });
    onTestFinished(() => engine.close());
    const found = [];
    for await (const item of engine.read())
      if ("event" in item) found.push({ origin: item.event.origin, content: item.event.content });
    return found;
  }

  it("R-003.10: who leads on this host is not told to the hub", async () => {
    expect(await atHub("beats")).toEqual([]); // Makes the stream.
    const log = journal();
    const beat = () => ({ ...makeEvent({ interaction: 0, actor: "up-1", type: "heartbeat", content: "h" }), term: 1 });
    const one = await forwarder("beats", "host-a", log);
    await log.append([beat(), note("a"), beat(), beat(), note("b"), beat()]);
    expect(await one.round()).toBe(2);
    await log.append([beat()]);
    expect(await one.round()).toBe(0);
    await log.append([note("c")]);
    // Another process finds its place behind the last that is there.
    expect(await (await forwarder("beats", "host-a", log)).round()).toBe(1);
    expect((await atHub("beats")).map(({ content }) => content)).toEqual(["a", "b", "c"]);
  });

  it("R-003.15: 10,000 events with the hub away and two forwarders at once: each once, in order", async () => {
    expect(await atHub("many")).toEqual([]); // Makes the stream.
    const log = journal();
    const both = [await forwarder("many", "host-a", log), await forwarder("many", "host-a", log)];
    await log.append([note("first")]);
    expect(await both[0]?.round()).toBe(1);
    await server.kill();
    const contents = Array.from({ length: 10_000 }, (_, i) => String(i));
    for (let i = 0; i < contents.length; i += 1000) await log.append(contents.slice(i, i + 1000).map(note));
    await expect(both[1]?.round()).rejects.toMatchObject({ code: "HUB_AWAY" });
    await server.up();
    let killed = false;
    const forward = async (one: Forwarder): Promise<void> => {
      for (const until = performance.now() + patient(60_000); performance.now() < until; ) {
        const done = await one.round().catch(() => undefined);
        if (done !== undefined && killed) return;
        if (done === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const forwarding = Promise.all(both.map(forward));
    // And away once more in the middle of it.
    await expect
      .poll(async () => (await atHub("many").catch(() => [])).length, { timeout: patient(20_000) })
      .toBeGreaterThan(1);
    await server.kill();
    await server.up();
    killed = true;
    await forwarding;
    const found = await atHub("many");
    expect(found.length).toBe(10_001);
    expect(found.map(({ content }) => content)).toEqual(["first", ...contents]);
    expect(new Set(found.map(({ origin }) => origin))).toEqual(new Set(["host-a"]));
  });

  it("goes on behind what is there, also in a process that knows nothing, and with another journal by the ids", async () => {
    await atHub("on");
    const log = journal();
    await log.append([note("1"), note("2")]);
    expect(await (await forwarder("on", "host-a", log)).round()).toBe(2);
    const kept = note("3");
    await log.append([kept]);
    expect(await (await forwarder("on", "host-a", log)).round()).toBe(1);
    expect(await (await forwarder("on", "host-a", log)).round()).toBe(0);
    const other = journal();
    await other.append([note("4"), kept, note("5")]);
    expect(await (await forwarder("on", "host-a", other)).round()).toBe(2);
    await log.append([note("of another host")]);
    expect(await (await forwarder("on", "host-b", log)).round()).toBe(4);
    expect((await atHub("on")).map(({ origin, content }) => `${origin} ${content}`)).toEqual([
      ...["1", "2", "3", "4", "5"].map((n) => `host-a ${n}`),
      ...["1", "2", "3", "of another host"].map((n) => `host-b ${n}`),
    ]);
  });

  it("sends everything again when the hub has lost it", async () => {
    await atHub("lost");
    const log = journal();
    const one = await forwarder("lost", "host-a", log);
    await log.append([note("1"), note("2")]);
    expect(await one.round()).toBe(2);
    const hub = await Hub.open({ servers: [server.url], name: "test" });
    onTestFinished(() => hub.close());
    await hub.manager.streams.delete(fleetNames("lost").events.stream);
    await atHub("lost"); // Made anew, empty.
    await log.append([note("3")]);
    // It finds out by the refusal of what it sends next.
    expect(await one.round()).toBe(3);
    expect((await atHub("lost")).map(({ content }) => content)).toEqual(["1", "2", "3"]);
  });

  it("cuts an event that the hub does not take, and says so", async () => {
    await atHub("long");
    const log = journal();
    // Each of these takes six bytes in JSON.
    await log.append([note("\u0001".repeat(1_500_000)), note("next")]);
    expect(await (await forwarder("long", "host-a", log)).round()).toBe(2);
    const [cut, next] = await atHub("long");
    expect(cut?.content).toContain("the rest is on host-a");
    expect(next?.content).toBe("next");
  });
});
