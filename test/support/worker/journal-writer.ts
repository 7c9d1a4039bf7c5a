// `journal-writer.ts WORKSPACE NAME COUNT BYTES [unsynced]`: appends COUNT events, eight at a time, and says of each when it is durable.
import { randomUUID } from "node:crypto";
import { Appender } from "../../../src/disk/appender.ts";
import { layout } from "../../../src/disk/layout.ts";
import { EmbeddedLog } from "../../../src/journal/embedded.ts";
import { makeEvent } from "../../../src/journal/event.ts";

const [root = "", name = "", count = "0", bytes = "100", unsynced] = process.argv.slice(2);
const CALLERS = 8;
const log = new EmbeddedLog(layout(root).events);
// The negative control: written, but never asked onto the disk.
const careless = new Appender(layout(root).events, { durable: false });
const say = (id: string): void => void process.stdout.write(`${id}\n`);

let next = 0;
await Promise.all(
  Array.from({ length: CALLERS }, async () => {
    while (next < Number(count)) {
      const n = next++;
      const content = `${name} ${n} ${"ä→x".repeat(n % 2 === 0 ? 3 : Math.floor(Number(bytes) / 6))}`;
      const event = makeEvent({ id: randomUUID(), interaction: n % 50, actor: name, type: "note", content });
      if (unsynced === undefined) await log.append([event]);
      else {
        await careless.append([event]);
        await new Promise((resolve) => setTimeout(resolve, 1)); // At a pace that a disk could follow.
      }
      say(event.id);
    }
  }),
);
careless.close();
await log.close();
