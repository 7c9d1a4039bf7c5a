// `place-worker.ts WORKSPACE FILE READER TIMES`: reads on in the file that many times under its name, and keeps its place each time.
import { openWorkspace } from "../../../src/index.ts";

const [root = "", file = "", reader = "", times = "0"] = process.argv.slice(2);
using workspace = openWorkspace({ workspace: root });
let lines = 0;
for (let n = 0; n < Number(times); n++) {
  const batch = workspace.verdicts.readFile(reader, file);
  lines += batch.lines.length;
  batch.commit();
  if (n === 0) process.stdout.write("ready\n");
}
process.stdout.write(`${lines}\n`);
