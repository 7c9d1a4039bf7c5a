import { appendFileSync, mkdirSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import type { OriginId } from "../core/ids.ts";
import { layout } from "../disk/layout.ts";
import { EmbeddedLog } from "../journal/embedded.ts";
import type { Stored } from "../journal/engine.ts";
import { makeEvent } from "../journal/event.ts";
import { emptyProjection, fold, renderCommunication } from "../journal/snapshot/project.ts";
import { AllOrigins } from "./all-origins.ts";
import { makeOrigin } from "./origin.ts";

/** What one more look finds: lines of some origins, each with a clock that grows, or not, or is no clock at all. */
const looks = fc.array(
  fc.array(fc.record({ origin: fc.constantFrom("a", "b", "c"), lc: fc.oneof(fc.nat(12), fc.constant("x")) }), {
    maxLength: 6,
  }),
  { minLength: 1, maxLength: 5 },
);

it("read in pieces or at once, every event comes once; where the cursor holds, the order is that of one who reads all", async () => {
  const at = folder();
  let n = 0;
  await fc.assert(
    fc.asyncProperty(looks, async (pieces) => {
      const paths = layout(`${at}/${++n}`);
      mkdirSync(paths.root, { recursive: true });
      makeOrigin(paths);
      const log = new AllOrigins(paths, new EmbeddedLog(paths.events), () => (event) => event);
      let cursor: string | undefined;
      let seen: string[] = [];
      let inOrder: string[] = [];
      for (const piece of pieces) {
        for (const [i, { origin, lc }] of piece.entries()) {
          const event = makeEvent({ interaction: 1, actor: "A", type: "note", content: `${origin}${i}` });
          appendFileSync(paths.sync.file(origin as OriginId), `${JSON.stringify({ ...event, origin, lc })}\n`);
        }
        const goesOn = cursor !== undefined && (await log.holds(cursor));
        const fresh: string[] = [];
        for await (const item of log.read({ after: cursor })) {
          fresh.push((item as Stored).event.id);
          cursor = item.next;
        }
        seen = [...seen, ...fresh];
        const whole: string[] = [];
        for await (const item of log.read()) whole.push((item as Stored).event.id);
        inOrder = goesOn ? [...inOrder, ...fresh] : whole;
        expect(inOrder).toEqual(whole);
        expect([...seen].sort()).toEqual([...whole].sort());
      }
    }),
    { numRuns: 40 },
  );
});

it("the last of all origins together are the last of the whole", async () => {
  const paths = layout(folder());
  makeOrigin(paths);
  const log = new AllOrigins(paths, new EmbeddedLog(paths.events), () => (event) => event);
  for (let lc = 1; lc <= 40; lc++) {
    const event = makeEvent({ interaction: lc, actor: "A", type: "note", content: String(lc) });
    const origin = (lc % 7 === 0 ? "b" : "a") as OriginId;
    appendFileSync(paths.sync.file(origin), `${JSON.stringify({ ...event, origin, lc })}\n`);
  }
  const projection = emptyProjection(5);
  for await (const item of log.read({ after: await log.tail(5) }))
    if ("event" in item) fold(projection, item.event, () => undefined);
  const shown = [...renderCommunication(projection, {}).matchAll(/Interaction #(\d+)/g)].map(([, n]) => Number(n));
  expect(shown).toEqual([36, 37, 38, 39, 40]);
  expect(await log.holds("1234")).toBe(false);
});
