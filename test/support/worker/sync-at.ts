// `sync-at.ts FOLDER REMOTE STEP`: syncs once, and stands still for ever at a step, so that it can be killed exactly there.
import { Machine } from "../net/machine.ts";

const [folder = "", remote = "", at = ""] = process.argv.slice(2);
const machine = new Machine(folder);
process.stdout.write("began\n");
await machine.sync(remote, {
  onStep: (step) => {
    if (step !== at) return;
    process.stdout.write(`at ${step}\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  },
});
await machine.close();
