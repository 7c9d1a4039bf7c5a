// Searches two logs in which every line is a hit, takes the hits slowly, and tells how many there were and by how many MB it grew: FILE LINES.
import { searchPieces } from "../../../src/log/search-pool.ts";
import { FileSource } from "../../../src/log/source.ts";

const path = process.argv[2] as string;
const source = FileSource.open(path) as FileSource;
const { dev, ino, birthtimeMs, size } = source.opened;
source.close();
const piece = { places: [path], file: { dev, ino, birth_ms: birthtimeMs }, index: [], text: "hit", from: 0, to: size };
const before = process.memoryUsage().rss;
let hits = 0;
let most = 0;
for await (const found of searchPieces([piece, piece], new AbortController().signal)) {
  if (!("hit" in found)) throw new Error(found.fault);
  if (++hits % 256 !== 0) continue;
  await new Promise((resolve) => setTimeout(resolve, 1)); // A pipe that is read slowly.
  if (hits % 25_600 === 0) most = Math.max(most, process.memoryUsage().rss - before);
}
process.stdout.write(JSON.stringify({ hits, grownMb: Math.round(most / 1e6) }));
