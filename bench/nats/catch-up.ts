/** A host that was without its hub: how fast it catches up, beside plain publishing on the same server. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import { connect, nkeys } from "@nats-io/transport-node";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { Forwarder } from "../../src/nats/forward.ts";
import { Hub } from "../../src/nats/hub.ts";
import { fleetNames } from "../../src/nats/names.ts";
import { signerOf } from "../../src/nats/signed/keys.ts";
import { Seals } from "../../src/nats/signed/seals.ts";
import { NatsServer } from "../../test/support/nats/nats-server.ts";
import { digits, interleave, median } from "../support/figures.ts";
import { type Options, type Row, row } from "../support/row.ts";
import { eventOf } from "./append.ts";

const IN_FLIGHT = 64;

export async function catchUpRows({ quick, dir, say }: Options): Promise<Row[]> {
  const count = quick ? 2000 : 10_000;
  await using server = await NatsServer.start({ under: dir });
  say(`${count} events, three rounds`);
  const events = Array.from({ length: count }, (_, n) => eventOf(n));
  const rates = { forward: [] as number[], plain: [] as number[] };
  const timed = async (into: number[], act: () => Promise<unknown>): Promise<void> => {
    const begun = performance.now();
    await act();
    into.push((count / (performance.now() - begun)) * 1000);
  };
  const pair = nkeys.createUser();
  const signer = signerOf(Buffer.from(pair.getSeed()).toString(), pair.getPublicKey());
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
        const seals = new Seals({ fleet, signer, people: [] });
        const forwarder = new Forwarder({ hub, names, seals, host: "a", log, mask: () => (one) => one });
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
    },
    3,
  );
  const [forward, plain] = [median(rates.forward), median(rates.plain)];
  return [
    row({
      promise: `fleet: a host catches up with ${count} events, each on the hub's disk`,
      figure: "events a second, beside plain publishing",
      measured: digits(forward),
      peer: `${digits(plain)}, ${IN_FLIGHT} in flight`,
      ratio: `${(forward / plain).toFixed(2)} x`,
      note: "batches of 500 cost one sync, plain publishing one each; each event of ours is signed",
    }),
  ];
}
