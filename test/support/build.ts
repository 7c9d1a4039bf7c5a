import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const READY = fileURLToPath(new URL("../../scripts/run.mjs", import.meta.url));

/** Builds what is older than its sources, once, before the first test. */
export default function setup(): void {
  execFileSync(process.execPath, [READY], { stdio: ["ignore", 2, 2] });
}
