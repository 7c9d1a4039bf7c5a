import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const READY = fileURLToPath(new URL("../../scripts/run.mjs", import.meta.url));

/** Builds what is older than its sources, once, before the first test. Behind the last one, what tests trusted goes. */
export default function setup(): () => void {
  execFileSync(process.execPath, [READY], { stdio: ["ignore", 2, 2] });
  return () => rmSync(process.env["XDG_STATE_HOME"] as string, { recursive: true, force: true });
}
