import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Builds the keeper once, before the first test. */
export default function setup(): void {
  execFileSync("make", ["-s", "-C", fileURLToPath(new URL("../../keeper", import.meta.url))], { stdio: "inherit" });
}
