// `paced-writer.ts WORKSPACE NAME COUNT BYTES GAP_MS`: appends COUNT events one after another, with a rest between them, so that it lasts as long as others write.
import { setTimeout as sleep } from "node:timers/promises";
import { layout } from "../../../src/disk/layout.ts";
import { EmbeddedLog } from "../../../src/journal/embedded.ts";
import { makeEvent } from "../../../src/journal/event.ts";

const [root = "", name = "", count = "0", bytes = "0", gap = "0"] = process.argv.slice(2);
const log = new EmbeddedLog(layout(root).events);
for (let n = 1; n <= Number(count); n++) {
  const content = `${name} ${n} ${"ä→x".repeat(Math.floor(Number(bytes) / 6))}`;
  await log.append([makeEvent({ interaction: n % 50, actor: name, type: "note", content })]);
  await sleep(Math.random() * 2 * Number(gap));
}
await log.close();
