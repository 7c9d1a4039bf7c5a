import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { uuidv7 } from "../../src/core/ids.ts";
import { answer, ask, type Line, type Question } from "../../src/nats/ask.ts";
import { FleetLink } from "../../src/nats/link.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";

const STOP: Question = { operation: "stop", input: { agents: ["x"] }, changes: true };

describe.skipIf(!hasNats("current"))("a question to another host", { timeout: patient(60_000) }, () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  async function link(): Promise<FleetLink> {
    const made = await FleetLink.open({ servers: [server.url], name: "test" }, "ask", "me");
    onTestFinished(() => made.close());
    return made;
  }

  /** A host that counts what it did. */
  async function hostOn(line: Line, host: string, takes = 0): Promise<{ done: Question[] }> {
    const done: Question[] = [];
    const handle = async (question: Question): Promise<unknown> => {
      await sleep(takes);
      done.push(question);
      if (question.operation === "fail") throw new Error("a fault of its own");
      return { did: done.length };
    };
    await answer(line, host, { handle });
    return { done };
  }

  it("is answered, with what went wrong there too; nobody there is told at once", async () => {
    const [here, there] = [await link(), await link()];
    await hostOn(there, "a");
    const look = { operation: "show", input: {}, changes: false };
    expect(await ask(here, "a", look)).toEqual({ answer: { did: 1 }, signed: false });
    expect(await ask(here, "a", STOP)).toEqual({ answer: { did: 2 }, signed: false });
    await expect(ask(here, "a", { ...STOP, operation: "fail" })).rejects.toMatchObject({
      message: "a fault of its own",
    });
    await expect(ask(here, "nobody", STOP)).rejects.toMatchObject({ code: "HOST_AWAY" });
  });

  it("that is sent twice is done once, also by two processes of the host", async () => {
    const [here, one, other] = [await link(), await link(), await link()];
    const hosts = [await hostOn(one, "b", 300), await hostOn(other, "b", 300)];
    const payload = JSON.stringify({ v: 1, id: uuidv7(), ...STOP });
    const send = async () => (await here.hub.request(here.names.ask("b", "do"), payload, undefined, 10_000)).json();
    const answers = await Promise.all([send(), send(), send()]);
    answers.push(await send());
    expect(answers).toEqual(Array.from({ length: 4 }, () => ({ answer: { did: 1 } })));
    expect(hosts.flatMap(({ done }) => done)).toHaveLength(1);
  });

  it("that was given up is not done by a host that wakes up behind it", async () => {
    const [here, there] = [await link(), await link()];
    const late: string[] = [];
    // It hears, and stands still.
    const deaf = there.hub.connection.subscribe(there.names.ask("c", "do"), {
      callback: (_, message) => void late.push(message.string()),
    });
    await there.hub.connection.flush();
    await expect(ask(here, "c", STOP, 1000)).rejects.toMatchObject({
      code: "HOST_AWAY",
      message: expect.stringContaining("will not be done"),
    });
    deaf.unsubscribe();
    const { done } = await hostOn(there, "c");
    for (const payload of late) await here.hub.request(here.names.ask("c", "do"), payload);
    expect(late.length).toBeGreaterThan(0);
    expect(done).toEqual([]);
  });

  it("that had begun when the caller gave up is neither called done nor not done", async () => {
    const [here, there] = [await link(), await link()];
    const { done } = await hostOn(there, "d", 2500);
    await expect(ask(here, "d", STOP, 1000)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    await expect.poll(() => done.length, { timeout: patient(10_000) }).toBe(1);
  });

  it("that looks cannot change anything, whatever it says of itself", async () => {
    const [here, there] = [await link(), await link()];
    const { done } = await hostOn(there, "e");
    await here.hub.request(here.names.ask("e", "look"), JSON.stringify({ v: 1, id: "1", ...STOP }));
    expect(done).toMatchObject([{ changes: false }]);
  });
});
