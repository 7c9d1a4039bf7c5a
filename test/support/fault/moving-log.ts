// `moving-log.ts MASTER PLAIN MOVED`: a log on its way into the archive, again and again. The archive itself is there all the time.
import { linkSync, unlinkSync } from "node:fs";

const [master = "", plain = "", moved = ""] = process.argv.slice(2);
for (;;) {
  linkSync(master, plain);
  linkSync(plain, moved);
  unlinkSync(plain);
  unlinkSync(moved);
}
