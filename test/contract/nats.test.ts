import { randomBytes } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ELECTION } from "../../src/journal/term.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { engineContract, event } from "./engine.ts";

describe.skipIf(!hasNats("current"))("NATS JetStream", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  function handles(fleet = `f${randomBytes(4).toString("hex")}`): () => NatsEngine {
    return () => {
      const { url, monitor } = server;
      const engine = new NatsEngine({ servers: [url], monitors: [monitor], name: "test", fleet, origin: "host-a" });
      onTestFinished(() => engine.close());
      return engine;
    };
  }

  engineContract("nats", () => {
    const another = handles();
    return { engine: another(), another };
  });

  it("is durable when the server says so", async () => {
    expect(await handles()().health()).toEqual({ engine: "nats", durable: true, problems: [] });
  });

  it("R-003.11: refuses at the server what a deposed leader still writes", async () => {
    const another = handles();
    const [old, young] = [another(), another()];
    const election = (term: number) => event(`term ${term}`, { type: ELECTION, term });
    await old.append([election(1)]);
    await old.append([event("of the first", { term: 1 }), event("and more", { term: 1 })]);
    await young.append([election(2)]);
    await expect(old.append([event("late", { term: 1 })])).rejects.toMatchObject({ code: "REFUSED_TERM" });
    await expect(old.append([event("late", { term: 1 }), event("later", { term: 1 })])).rejects.toMatchObject({
      code: "REFUSED_TERM",
    });
    await expect(old.append([election(1)])).rejects.toMatchObject({ code: "REFUSED_TERM" });
    await young.append([event("of the second", { term: 2 })]);
    await old.append([event("of nobody")]);
    const read: string[] = [];
    for await (const item of another().read()) if ("event" in item) read.push(item.event.content);
    expect(read).toEqual(["term 1", "of the first", "and more", "term 2", "of the second", "of nobody"]);
  });

  it("stores many together, in order, and says which message is no event", async () => {
    const fleet = `f${randomBytes(4).toString("hex")}`;
    const engine = handles(fleet)();
    await engine.append(Array.from({ length: 1200 }, (_, i) => event(String(i))));
    const connection = await connect({ servers: server.url });
    await jetstream(connection).publish(`midwatch.${fleet}.ev.somebody`, "no event");
    await connection.close();
    const items = [];
    for await (const item of engine.read()) items.push("event" in item ? item.event.content : item.bad.reason);
    expect(items).toEqual([...Array.from({ length: 1200 }, (_, i) => String(i)), "not JSON"]);
  });

  it("what is there already is passed over, and the rest keeps its order over several batches", async () => {
    const engine = handles()();
    const events = Array.from({ length: 1200 }, (_, i) => event(String(i)));
    await engine.append([events[100] as (typeof events)[number]]);
    await engine.append(events);
    const read: string[] = [];
    for await (const item of engine.read()) if ("event" in item) read.push(item.event.content);
    expect(read).toEqual(["100", ...Array.from({ length: 1200 }, (_, i) => String(i)).filter((one) => one !== "100")]);
  });

  it("keeps registers as a bucket that the tools of NATS can read", async () => {
    const fleet = `f${randomBytes(4).toString("hex")}`;
    const engine = handles(fleet)();
    await engine.set("registers/x", { a: 1 }, 0);
    await engine.set("heartbeats/a b.c", 2, 0);
    expect((await engine.keys("heartbeats/")).concat(await engine.keys("registers/"))).toEqual([
      "heartbeats/a b.c",
      "registers/x",
    ]);
    const connection = await connect({ servers: server.url });
    const bucket = await new Kvm(connection).open(`midwatch-${fleet}`);
    expect((await bucket.get("registers.x"))?.json()).toEqual({ a: 1 });
    await connection.close();
  });

  it("goes on by itself when the server was killed and came back", async () => {
    const engine = handles()();
    await engine.append([event("before")]);
    await server.kill();
    await expect(engine.append([event("away")])).rejects.toMatchObject({ code: "HUB_AWAY" });
    await server.up();
    const again = event("after");
    await expect
      .poll(
        () =>
          engine.append([again]).then(
            () => true,
            () => false,
          ),
        { timeout: patient(15_000) },
      )
      .toBe(true);
    const read: string[] = [];
    for await (const item of engine.read()) if ("event" in item) read.push(item.event.content);
    expect(read.filter((content) => content !== "away")).toEqual(["before", "after"]);
  });
});

describe.skipIf(!hasNats("current"))("a server that is not set up for it", () => {
  const options = { name: "test", fleet: "f", origin: "host-a" };

  it("which does not sync before it acknowledges: works, and says that it is not durable", async () => {
    await using server = await NatsServer.start({ jetstream: "" });
    const engine = new NatsEngine({ ...options, servers: [server.url], monitors: [server.monitor] });
    await engine.append([event("kept")]);
    const { durable, problems } = await engine.health();
    await engine.close();
    expect(durable).toBe(false);
    expect(problems.join()).toContain("sync_interval: always");
    const blind = new NatsEngine({ ...options, servers: [server.url] });
    expect(await blind.health()).toMatchObject({ durable: false, problems: [expect.stringContaining("not known")] });
    await blind.close();
  });

  it("which holds another stream under our name: refused, with what differs", async () => {
    await using server = await NatsServer.start();
    const connection = await connect({ servers: server.url });
    const manager = await jetstream(connection).jetstreamManager();
    await manager.streams.add({ name: "midwatch-events-f", subjects: ["midwatch.f.ev.>", "midwatch.f.lead.>"] });
    await connection.close();
    const engine = new NatsEngine({ ...options, servers: [server.url] });
    await expect(engine.append([event("x")])).rejects.toMatchObject({
      code: "BAD_HUB",
      message: expect.stringContaining("allow_atomic"),
    });
    await engine.close();
  });

  it("which is not there: away, and told so", async () => {
    const engine = new NatsEngine({ ...options, servers: ["nats://127.0.0.1:1"] });
    await expect(engine.get("registers/x")).rejects.toMatchObject({ code: "HUB_AWAY", retryable: true });
    await engine.close();
  });
});

describe.skipIf(!hasNats("old"))("the server of Debian 12", () => {
  it("is refused, with a sentence that says what to do", async () => {
    await using server = await NatsServer.start({ which: "old", jetstream: "" });
    const engine = new NatsEngine({ name: "test", fleet: "f", origin: "host-a", servers: [server.url] });
    await expect(engine.append([event("x")])).rejects.toMatchObject({
      code: "BAD_HUB",
      message: expect.stringMatching(/2\.9\.\d+; midwatch needs 2\.12/),
      hint: expect.stringContaining("Install a current one"),
    });
    await engine.close();
  });
});
