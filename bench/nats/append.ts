/** Appending to a hub of three servers, each batch on three disks, beside the same client that publishes the same bytes by itself. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { jetstreamManager, StorageType } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { type JournalEvent, makeEvent } from "../../src/journal/event.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { fleetNames } from "../../src/nats/names.ts";
import { digits, interleave, median, times } from "../support/figures.ts";
import { type Options, type Row, row } from "../support/row.ts";
import { Cluster } from "./cluster.ts";

const BATCH = 500;
const LEAST = 0.8;
const FLEET = "bench";
const PLAIN = "plain";
const SUBJECT = "plain.events";

export function eventOf(n: number): JournalEvent {
  return makeEvent({ interaction: 1, actor: "Agent A", type: "note", content: `text ${n} ${"x".repeat(120)}` });
}

export async function appendRows({ quick, dir, say }: Options): Promise<Row[]> {
  // Short turns: what else runs on the machine changes within seconds, and has to hit all alike.
  const [count, rounds] = quick ? [1000, 15] : [1000, 101];
  say("three servers");
  await using cluster = await Cluster.start(dir);
  const connection = await connect({ servers: cluster.url });
  const engine = new NatsEngine({ servers: [cluster.url], name: "bench", fleet: FLEET, origin: "a" });
  const rates = { ours: [] as number[], plain: [] as number[] };
  const batches = (): JournalEvent[][] =>
    Array.from({ length: count / BATCH }, (_, b) => Array.from({ length: BATCH }, (_, i) => eventOf(b * BATCH + i)));
  const timed = async (into: number[], act: () => Promise<void>): Promise<void> => {
    const begun = performance.now();
    await act();
    into.push((count / (performance.now() - begun)) * 1000);
    await sleep(50); // Copies of the last batch may still be on their way.
  };
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await until(() => manager.streams.add({ ...KIND, name: PLAIN, subjects: [SUBJECT] }));
    await engine.tail(1);
    const theirs = await cluster.settled(connection, manager, PLAIN);
    const ours = await cluster.settled(connection, manager, fleetNames(FLEET).events.stream);
    if (ours.config.num_replicas !== theirs.config.num_replicas) throw new Error("the streams are not of one kind");
    const variants = {
      ours: async () => {
        const given = batches();
        await timed(rates.ours, async () => {
          for (const batch of given) await engine.append(batch);
        });
      },
      plain: async () => {
        const given = batches().map((batch) => batch.map((event) => JSON.stringify(event)));
        await timed(rates.plain, async () => {
          for (const batch of given) await publishPlain(connection, batch);
        });
      },
    };
    await interleave(variants, 2);
    for (const values of Object.values(rates)) values.length = 0;
    say(`${rounds} rounds of ${count} events, ${BATCH} a batch`);
    await interleave(variants, rounds);
  } finally {
    await Promise.all([engine.close(), connection.close()]);
  }
  // Of neighbours in time: the machine is not as fast in each round.
  const ratio = median(rates.ours.map((rate, i) => rate / (rates.plain[i] ?? 1)));
  return [
    row({
      promise: "fleet: append to a hub of three servers",
      figure: `events a second, ${BATCH} a batch, each synced by all three`,
      measured: digits(median(rates.ours)),
      peer: `the bare client, the same bytes and batches: ${digits(median(rates.plain))}`,
      ratio: `${times(ratio)}, median of the rounds`,
      bar: `≥ ${LEAST} x`,
      holds: ratio >= LEAST,
      note: `${rounds} rounds; the peer gives no ids, so it would store twice what it sends twice`,
    }),
  ];
}

const KIND = { storage: StorageType.File, num_replicas: 3, allow_atomic: true, allow_direct: true } as const;

async function publishPlain(connection: Awaited<ReturnType<typeof connect>>, batch: readonly string[]): Promise<void> {
  const id = randomUUID();
  const numbered = (n: number): ReturnType<typeof headers> => {
    const made = headers();
    made.set("Nats-Batch-Id", id);
    made.set("Nats-Batch-Sequence", String(n));
    return made;
  };
  batch.slice(0, -1).forEach((payload, i) => void connection.publish(SUBJECT, payload, { headers: numbered(i + 1) }));
  const commit = numbered(batch.length);
  commit.set("Nats-Batch-Commit", "1");
  const answer = await connection.request(SUBJECT, batch.at(-1) ?? "", { headers: commit, timeout: 20_000 });
  const { error } = answer.json<{ error?: { description: string } }>();
  if (error !== undefined) throw new Error(error.description);
}

/** A cluster that has just begun refuses until it has a leader. */
async function until(act: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + 20_000; ; await sleep(200)) {
    try {
      return void (await act());
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
