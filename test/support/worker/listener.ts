// An agent that reads lines: prints of each its length, its hash and how it begins, and `end` when its input ends.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin }))
  console.log(
    JSON.stringify({
      length: line.length,
      sha: createHash("sha256").update(line).digest("hex"),
      head: line.slice(0, 24),
    }),
  );
console.log("end");
