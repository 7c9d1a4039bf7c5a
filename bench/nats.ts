/** A fleet's hub: how fast a host catches up beside plain publishing, what an append costs, and what a batch saves. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { layout } from "../src/disk/layout.ts";
import { EmbeddedEngine } from "../src/journal/embedded-engine.ts";
import { type JournalEvent, makeEvent } from "../src/journal/event.ts";
import { NatsEngine } from "../src/nats/engine.ts";
import { Forwarder } from "../src/nats/forward.ts";
import { Hub } from "../src/nats/hub.ts";
import { fleetNames } from "../src/nats/names.ts";
import { findNats } from "../test/support/nats-program.ts";
import { NatsServer } from "../test/support/nats-server.ts";
import { digits, interleave, median } from "./support/figures.ts";
import { type Options, type Row, row } from "./support/row.ts";

const IN_FLIGHT = 64;

function event(n: number): JournalEvent {
  return makeEvent({ interaction: 1, actor: "Agent A", type: "note", content: `text ${n} ${"x".repeat(120)}` });
}

export async function bench({ quick, dir, say }: Options): Promise<Row[]> {
  if (findNats("current") === undefined) {
    say("nats: SKIPPED, there is no nats-server. Next: node scripts/nats-server.mjs");
    return [];
  }
  const count = quick ? 2000 : 10_000;
  await using server = await NatsServer.start();
  const events = Array.from({ length: count }, (_, n) => event(n));
  const rates = { forward: [] as number[], plain: [] as number[], batch: [] as number[] };
  const timed = async (into: number[], act: () => Promise<unknown>): Promise<void> => {
    const begun = performance.now();
    await act();
    into.push((count / (performance.now() - begun)) * 1000);
  };
  let n = 0;
  await interleave(
    {
      forward: async () => {
        const fleet = `f${n++}`;
        const root = join(dir, fleet);
        mkdirSync(root);
        const log = new EmbeddedEngine(layout(root));
        await log.append(events);
        const engine = new NatsEngine({ servers: [server.url], name: "bench", fleet, origin: "reader" });
        await engine.tail(1);
        const hub = await Hub.open({ servers: [server.url], name: "bench" });
        const names = fleetNames(fleet);
        const forwarder = new Forwarder({ hub, names, host: "a", log, mask: () => (one) => one });
        await timed(rates.forward, () => forwarder.round());
        await Promise.all([hub.close(), engine.close(), log.close()]);
      },
      plain: async () => {
        const connection = await connect({ servers: server.url });
        const client = jetstream(connection);
        const manager = await client.jetstreamManager();
        await manager.streams.add({ name: `plain-${n}`, subjects: [`plain.${n}`] });
        const subject = `plain.${n++}`;
        let next = 0;
        const call = async (): Promise<void> => {
          while (next < count) await client.publish(subject, JSON.stringify(events[next++]));
        };
        await timed(rates.plain, () => Promise.all(Array.from({ length: IN_FLIGHT }, call)));
        await connection.close();
      },
      batch: async () => {
        const engine = new NatsEngine({ servers: [server.url], name: "bench", fleet: `b${n++}`, origin: "a" });
        await engine.tail(1);
        await timed(rates.batch, () => engine.append(events.map((_, i) => event(i))));
        await engine.close();
      },
    },
    3,
  );
  const [forward, plain, batch] = [median(rates.forward), median(rates.plain), median(rates.batch)];
  return [
    row({
      promise: `fleet: a host catches up with ${count} events, each on the hub's disk`,
      figure: "events a second, beside plain publishing",
      measured: digits(forward),
      peer: `${digits(plain)}, ${IN_FLIGHT} in flight`,
      ratio: `${(forward / plain).toFixed(2)} x`,
      note: "batches of 500 cost one sync; plain publishing one each",
    }),
    row({
      promise: "fleet: append to the hub, 500 events a batch",
      figure: "events a second",
      measured: digits(batch),
      ratio: `${(batch / plain).toFixed(2)} x`,
    }),
  ];
}
