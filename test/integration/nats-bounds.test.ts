import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { bound } from "../../src/nats/bounds.ts";
import { type Opened, openFleet } from "../../src/nats/engine.ts";
import { Forwarder } from "../../src/nats/forward.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { freePort, NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";

const DAY = 24 * 3_600_000;
const SOON = { timeout: patient(20_000), interval: 50 };

interface Fleet {
  /** With the key of a host, or of people. */
  as(key: string): Promise<Opened>;
}

/** A hub with the keys of `nats init`. */
async function fleet(): Promise<Fleet> {
  const cwd = folder();
  const port = await freePort();
  await midwatch(cwd, ["nats", "init", "alpha", "--listen", `127.0.0.1:${port}`]);
  const server = await NatsServer.start({ file: join(cwd, "nats", "nats-server.conf"), port });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const as = async (key: string): Promise<Opened> => {
    const nkey = join(cwd, "nats", `${key}.nk`);
    const settings = { servers: [server.url], name: "test", inbox: `_INBOX_${key}`, nkey };
    const opened = await openFleet({ ...settings, fleet: "fleet", origin: key });
    onTestFinished(() => opened.hub.close());
    return opened;
  };
  return { as };
}

const note = (content: string) => makeEvent({ interaction: 1, actor: "a", type: "note", content });

async function config({ hub, names }: Opened): Promise<{ max_age: number; max_bytes: number; messages: number }> {
  const { config: now, state } = await hub.ask(({ streams }) => streams.info(names.events.stream));
  return { max_age: now.max_age, max_bytes: now.max_bytes, messages: state.messages };
}

async function contents({ log }: Opened): Promise<string[]> {
  const found: string[] = [];
  for await (const item of log.read()) if ("event" in item) found.push(item.event.content);
  return found;
}

describe.skipIf(!hasNats("current"))("what the hub keeps", { timeout: patient(60_000) }, () => {
  it("is bounded with the first thing that a person asks, and said once; off takes the bounds away", async () => {
    const { as } = await fleet();
    const people = await as("people");
    const usual = { ageMs: 30 * DAY, bytes: 10 << 20 };
    await people.log.append([note("one")]);
    expect(await bound(people, usual, true)).toBe(
      "The hub keeps the events of the fleet for 30d, up to 10.0 MiB from now on.",
    );
    expect(await config(people)).toEqual({ max_age: 30 * DAY * 1e6, max_bytes: 10 << 20, messages: 2 });
    expect(await bound(people, usual, true)).toBeUndefined();
    expect(await bound(people, { ageMs: 0, bytes: 0 }, false)).toContain("without bounds");
    // Whoever says nothing changes nothing that another has decided.
    expect(await bound(people, usual, true)).toBeUndefined();
    expect(await config(people)).toMatchObject({ max_age: 0, max_bytes: -1 });
    expect(await contents(people)).toContain("one");
  });

  it("goes only a day after it was told, and a host can neither tell nor do it", async () => {
    const { as } = await fleet();
    const people = await as("people");
    const alpha = await as("alpha");
    await alpha.log.append(Array.from({ length: 20 }, (_, i) => note(`${i} ${"x".repeat(1000)}`)));
    const less = { ageMs: 0, bytes: 10_000 };
    const told = "The hub keeps the events of the fleet up to 9.8 KiB from tomorrow on";
    expect(await bound(people, less, false)).toContain(told);
    expect((await contents(people)).at(-1)).toContain(told);
    expect(await bound(people, less, false, Date.now() + DAY / 2)).toBeUndefined();
    expect(await bound(alpha, less, false, Date.now() + 2 * DAY)).toBeUndefined();
    expect(await bound(alpha, { ageMs: DAY, bytes: 1 }, false)).toBeUndefined();
    expect(await config(people)).toMatchObject({ max_bytes: -1, messages: 21 });
    expect(await bound(people, less, false, Date.now() + 2 * DAY)).toContain("from now on");
    await expect.poll(async () => (await config(people)).messages, SOON).toBeLessThan(10);
    expect((await contents(people)).at(-1)).toContain(told);
  });

  it("by age is told first too, and never less than the ten minutes in which an id is stored once", async () => {
    const { as } = await fleet();
    const people = await as("people");
    await people.log.append([note("old")]);
    const later = Date.now() + 2 * DAY;
    expect(await bound(people, { ageMs: 1, bytes: 0 }, false, later)).toContain("for 10m from tomorrow on");
    expect(await bound(people, { ageMs: 1, bytes: 0 }, false, later + 2 * DAY)).toContain("for 10m from now on");
    expect(await config(people)).toMatchObject({ max_age: 600e9 });
  });

  it("a host of whose events the hub keeps none any more sends only what is new, and all of it to another stream", async () => {
    const { as } = await fleet();
    const people = await as("people");
    const { hub, names, seals } = await as("alpha");
    const log = new EmbeddedEngine(layout(folder()));
    onTestFinished(() => log.close());
    let sent: string | undefined;
    const forwarder = (): Forwarder =>
      new Forwarder({ hub, names, seals, host: "alpha", log, before: async () => sent, mask: () => (event) => event });
    const first = forwarder();
    await log.append([note("1"), note("2")]);
    expect(await first.round()).toBe(2);
    sent = await first.sent();
    const { stream } = names.events;
    await people.hub.ask(({ streams }) => streams.update(stream, { max_msgs: 1 }));
    await people.log.append([note("of people")]);
    await people.hub.ask(({ streams }) => streams.update(stream, { max_msgs: -1 }));
    expect(await contents(people)).toEqual(["of people"]);
    await log.append([note("3")]);
    expect([await first.round(), await forwarder().round()]).toEqual([1, 0]);
    expect(await contents(people)).toEqual(["of people", "3"]);
    await people.hub.manager.streams.delete(stream);
    const again = await as("people");
    expect(await forwarder().round()).toBe(3);
    expect(await contents(again)).toEqual(["1", "2", "3"]);
  });
});
