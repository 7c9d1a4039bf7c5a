// An attacker: swaps a path for a symbolic link and back as fast as it can, until it is told to put things right. Messages:
// `{path, target}` begins, `"end"` ends; each is answered.
import { renameSync, rmSync, symlinkSync } from "node:fs";

const TURNS = 50;
let at: { path: string; target: string } | undefined;

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // The other side has just moved or removed a name; the next turn will find what there is.
  }
}

function turn(): void {
  if (at === undefined) return;
  const { path, target } = at;
  for (let i = 0; i < TURNS; i++) {
    move(path, `${path}.real`);
    try {
      symlinkSync(target, path);
    } catch {
      // Somebody has made a real one meanwhile.
    }
    move(path, `${path}.link`);
    move(`${path}.real`, path);
  }
  setImmediate(turn);
}

process.on("message", (message: { path: string; target: string } | "end") => {
  if (message === "end") {
    if (at !== undefined) rmSync(`${at.path}.link`, { recursive: true, force: true });
    at = undefined;
  } else {
    at = message;
    setImmediate(turn);
  }
  process.send?.("ok");
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
