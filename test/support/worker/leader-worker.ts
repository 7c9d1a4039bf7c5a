// `leader-worker.ts ROOT TTL_MS`: wants to lead, writes a line with its term as often as it can while it leads, and a plain line all the
// time. Told `{ stopAt: STEP }`, it stops itself by SIGSTOP when it comes to that step; told `"end"`, it gives the lease back and ends.
// It sends how long its longest plain append took.
import { uuidv7 } from "../../../src/core/ids.ts";
import { iso } from "../../../src/core/time.ts";
import { layout } from "../../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../../src/journal/embedded-engine.ts";
import type { JournalEvent } from "../../../src/journal/event.ts";
import { Leader } from "../../../src/journal/leader.ts";

const [root = "", ttl = "1000"] = process.argv.slice(2);
let stopAt: string | undefined;
const at = (step: string): void => {
  if (step !== stopAt) return;
  stopAt = undefined;
  process.kill(process.pid, "SIGSTOP");
};
const engine = new EmbeddedEngine(layout(root), (step, key) =>
  at(`${key.includes("term-") ? "mark" : "register"} ${step}`),
);
const ending = new AbortController();
const leader = new Leader(engine, {
  kind: "worker",
  ttlMs: Number(ttl),
  pause: "auto",
  tell: (text) => console.error(text),
  signal: ending.signal,
  onStep: (step) => at(step),
});
process.on("message", (message: { stopAt: string } | "end") => {
  if (message === "end") ending.abort();
  else stopAt = message.stopAt;
});
process.on("disconnect", () => process.exit(1));

const event = (type: string): JournalEvent => ({
  v: 1,
  id: uuidv7(),
  interaction: 1,
  actor: leader.name,
  type,
  content: "",
  timestamp: iso(),
});
process.send?.({ name: leader.name });
let told: number | undefined;
while (!ending.signal.aborted) {
  const begun = performance.now();
  await engine.append([event("plain")]);
  const took = performance.now() - begun;
  if (leader.term !== undefined) {
    await leader.append([event("led")]);
    at("written");
  }
  if (leader.term !== told || took > 200) process.send?.({ term: leader.term ?? null, took });
  told = leader.term;
  await new Promise((resolve) => setTimeout(resolve, 10));
}
await leader.close();
process.send?.({ ended: true }, () => process.exit(0));
