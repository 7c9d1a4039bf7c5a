// `count-worker.ts ROOT NAME TIMES`: when told to begin, adds one to its own count in a register that several processes share, TIMES times, and sends how
// often another was faster and how often it could not be known.
import { once } from "node:events";
import { MidwatchError } from "../../../src/core/errors.ts";
import { layout } from "../../../src/disk/layout.ts";
import { FileRegisters } from "../../../src/journal/registers.ts";

const [root = "", name = "", times = "0"] = process.argv.slice(2);
const registers = new FileRegisters(layout(root));
let done = 0;
let slower = 0;
let unknown = 0;
process.send?.({ ready: true });
await once(process, "message");
while (done < Number(times)) {
  const now = await registers.get<Record<string, number>>("registers/count");
  if (now?.value?.[name] === done + 1) {
    done++; // The one of which we could not know.
    continue;
  }
  try {
    const set = await registers.set("registers/count", { ...now?.value, [name]: done + 1 }, now?.rev ?? 0);
    if (set === undefined) slower++;
    else done++;
  } catch (error) {
    if (!(error instanceof MidwatchError && error.code === "OUTCOME_UNKNOWN")) throw error;
    unknown++;
  }
}
process.send?.({ slower, unknown }, () => process.exit(0));
