// `nats-leader-worker.ts URLS FLEET TTL_MS NKEY`: wants to lead a fleet, and writes lines with its term while it does, and some more in its old
// term when it no longer does: those the server has to refuse. It sends the ids of those that were acknowledged. Told "end", it gives the lease back and ends.
import { MidwatchError } from "../../../src/core/errors.ts";
import { uuidv7 } from "../../../src/core/ids.ts";
import { iso } from "../../../src/core/time.ts";
import { Leader } from "../../../src/journal/leader.ts";
import { NatsEngine } from "../../../src/nats/engine.ts";

const [urls = "", fleet = "", ttl = "1000", nkey] = process.argv.slice(2);
const servers = urls.split(",");
const people = process.env["MIDWATCH_NATS_PEOPLE"]?.split(",") ?? [];
const engine = new NatsEngine({ servers, nkey, people, name: "worker", fleet, origin: `worker-${process.pid}` });
const ending = new AbortController();
const leader = new Leader(engine, {
  ...{ kind: "worker", ttlMs: Number(ttl), pause: "auto", signal: ending.signal },
  tell: () => undefined, // The hub is away now and then: that is what is tried.
});
process.on("message", () => ending.abort());
process.on("disconnect", () => process.exit(1));
process.send?.({ name: leader.name });

const counts = { acked: [] as string[], refused: 0 };
let sent = performance.now();
let term: number | undefined;
while (!ending.signal.aborted) {
  term = leader.term ?? term;
  if (term !== undefined) {
    const id = uuidv7();
    const event = { v: 1, id, interaction: 1, actor: leader.name, type: "led", content: "", timestamp: iso() } as const;
    try {
      await engine.append([{ ...event, term }]);
      counts.acked.push(id);
    } catch (error) {
      if (error instanceof MidwatchError && error.code === "REFUSED_TERM") counts.refused++;
    }
  }
  if (performance.now() - sent > 100) {
    process.send?.({ acked: counts.acked.splice(0), refused: counts.refused });
    counts.refused = 0;
    sent = performance.now();
  }
  await new Promise((resolve) => setTimeout(resolve, 15));
}
await leader.close().catch(() => undefined);
process.send?.({ acked: counts.acked, refused: counts.refused }, () => process.exit(0));
