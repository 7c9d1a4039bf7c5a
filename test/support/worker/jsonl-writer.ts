// `jsonl-writer.ts FILE NAME COUNT [wait|descriptors]`: appends COUNT records and prints a number behind each; with `wait` it goes on until it is ended,
// with `descriptors` it has used up all that it may open before.
import { openSync } from "node:fs";
import { JSONLWriter } from "../../../src/log/jsonl/writer.ts";

const [file = "", source = "", count = "0", how = ""] = process.argv.slice(2);
const writer = new JSONLWriter(file);
try {
  while (how === "descriptors") openSync("/dev/null", "r");
} catch {
  // Now there is none left.
}
try {
  for (let line = 0; line < Number(count) || how === "wait"; line++) {
    writer.append({ source, line });
    process.stdout.write(`${line}\n`);
  }
} catch (error) {
  process.stdout.write(`${String(error)}\n`);
}
