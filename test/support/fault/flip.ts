// An attacker: in the folder given, swaps the folder `flip` for the symbolic link `link` and back, as fast as it can.
import { renameSync } from "node:fs";
import { join } from "node:path";

const [flip, link, real] = ["flip", "link", "real"].map((name) => join(process.argv[2] ?? "", name)) as [
  string,
  string,
  string,
];

function swap(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // The other side has just removed a name; the next round will find what there is.
  }
}

process.send?.("ready");
for (;;) {
  swap(flip, real);
  swap(link, flip);
  swap(flip, link);
  swap(real, flip);
}
