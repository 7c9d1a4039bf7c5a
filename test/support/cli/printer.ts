// `printer.ts SEED BYTES EXIT SIDE PAUSE_US`: prints output(SEED, BYTES) and exits with EXIT. After each completed write
// the number of bytes printed so far goes to the file SIDE: a kill -9 may come at any moment, and SIDE tells what must be there.
import { openSync, writeSync } from "node:fs";
import { output, writes } from "./output.ts";

const [seed = 0, bytes = 0, exit = 0, , pauseUs = 0] = process.argv.slice(2).map(Number);
const side = openSync(process.argv[5] ?? "", "w");
const all = output(seed, bytes);
const clock = new Int32Array(new SharedArrayBuffer(4));
const done = Buffer.alloc(8);
let at = 0;
for (const size of writes(seed, bytes)) {
  for (const end = at + size; at < end; ) at += writeSync(1, all, at, end - at);
  done.writeBigUInt64LE(BigInt(at));
  writeSync(side, done, 0, 8, 0);
  if (pauseUs > 0) Atomics.wait(clock, 0, 0, pauseUs / 1000);
}
process.exit(exit);
