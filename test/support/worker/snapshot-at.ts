// `snapshot-at.ts WORKSPACE`: takes snapshots without end, and says so before each step, so that it can be killed anywhere.
import { snapshotOf } from "../data/journal.ts";

const root = process.argv[2] ?? "";
for (;;) await snapshotOf(root, { onStep: (step) => void process.stdout.write(`${step}\n`) });
