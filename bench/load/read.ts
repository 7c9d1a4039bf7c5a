// `read.ts FILE`: reads a JSONL file in every way and prints the most memory it took, in MB.
import { jsonlCount, jsonlPage, jsonlTail, jsonlVerify } from "../../src/log/jsonl/jsonl.ts";
import { peakMb } from "../support/peak.ts";

const file = process.argv[2] ?? "";
for (const _ of jsonlTail(file, 100));
for (const _ of jsonlPage(file, 1000, 100));
await jsonlCount(file);
await jsonlVerify(file);
console.log(peakMb());
