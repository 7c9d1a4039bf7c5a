// `send-worker.ts ROOT AGENT NAME COUNT MAX`: sends COUNT messages of up to MAX bytes one after another; tells the parent of each
// that was accepted, by its place and hash. COUNT 0 sends until it is killed.
import { createHash } from "node:crypto";
import { openWorkspace } from "../../../src/fleet/workspace.ts";
import { random } from "../data/random.ts";

const [root = "", agent = "", name = "", count = "0", max = "1"] = process.argv.slice(2);
using workspace = openWorkspace({ workspace: root });
const next = random(Number(name) + 1);
for (let i = 0; Number(count) === 0 || i < Number(count); i++) {
  const size = Math.floor(2 ** (next() * Math.log2(Number(max))));
  const text = `${name}.${i}.${String.fromCharCode(97 + (i % 26)).repeat(size)}`;
  await workspace.mail.send(agent, text);
  process.send?.({ place: `${name}.${i}`, sha: createHash("sha256").update(text).digest("hex") });
}
process.disconnect?.();
