import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { layout } from "../../src/disk/layout.ts";
import { FileRegisters } from "../../src/journal/registers.ts";
import { pick, random } from "../support/data/random.ts";
import { lab } from "../support/lab.ts";
import { supportFile } from "../support/workspace.ts";

const TIMES = 150;

it("R-003.19: four processes change one register, stopped at random moments: each change takes effect once, nobody waits", async () => {
  const at = lab();
  const next = random(7);
  const names = ["a", "b", "c", "d"];
  const workers = names.map((name) => at.node(supportFile("worker/count-worker.ts"), at.root, name, String(TIMES)));
  await Promise.all(workers.map((child) => once(child, "message")));
  const results = Promise.all(
    workers.map(async (child) => {
      const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`a worker ended with ${code}`)));
      failed.catch(() => undefined);
      return (await Promise.race([once(child, "message"), failed]))[0];
    }),
  );
  for (const child of workers) child.send("begin");
  let stops = 0;
  for (let over = false; !over; stops++) {
    const child = pick(next, workers);
    child.kill("SIGSTOP");
    await sleep(next() * 60); // The others go on meanwhile, by more than eight changes at times.
    child.kill("SIGCONT");
    over = await Promise.race([results.then(() => true), sleep(next() * 15).then(() => false)]);
  }
  const found = await new FileRegisters(layout(at.root)).get("registers/count");
  console.log(`${stops} stops`, await results);
  expect(found?.value).toEqual(Object.fromEntries(names.map((name) => [name, TIMES])));
  expect(found?.rev).toBe(names.length * TIMES);
});
