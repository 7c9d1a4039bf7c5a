// As in docs/library.md: programs on several machines choose a leader among them through the library.
import { expect, it } from "vitest";
import { type JournalEvent, Leader, makeEvent, NatsEngine } from "../../src/index.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { until } from "../support/workspace.ts";

const line = (content: string): JournalEvent => makeEvent({ interaction: 1, actor: "nightly", type: "note", content });

it.skipIf(!hasNats("current"))(
  "R-003.15: one of two leads, the other follows when it gives up, and what the first still writes is not stored",
  { timeout: patient(60_000) },
  async () => {
    await using server = await NatsServer.start();
    const ending = new AbortController();
    const member = (origin: string) => {
      const journal = new NatsEngine({ servers: [server.url], name: "nightly", fleet: "fleet", origin });
      const tell = (): void => undefined;
      const leader = new Leader(journal, {
        ...{ kind: origin, ttlMs: 1000, pause: "auto", tell, signal: ending.signal },
      });
      return { journal, leader };
    };
    const members = [member("a"), member("b")];
    const leading = (): (typeof members)[number] | undefined => members.find(({ leader }) => leader.term !== undefined);
    await until(() => leading() !== undefined, 20_000);
    const first = leading() as (typeof members)[number];
    const second = members.find((one) => one !== first) as typeof first;
    const term = first.leader.term as number;
    expect(await first.leader.append([line("of the first")])).toBe(true);
    expect(await second.leader.append([line("of nobody")])).toBe(false);
    await first.leader.close();
    await until(() => second.leader.term !== undefined, 20_000);
    expect(await second.leader.append([line("of the second")])).toBe(true);
    await expect(first.journal.append([{ ...line("too late"), term }])).rejects.toMatchObject({ code: "REFUSED_TERM" });
    const stored: string[] = [];
    for await (const item of second.journal.read())
      if ("event" in item && item.event.type === "note") stored.push(item.event.content);
    expect(stored).toEqual(["of the first", "of the second"]);
    ending.abort();
    await second.leader.close();
    for (const { journal } of members) await journal.close();
  },
);
