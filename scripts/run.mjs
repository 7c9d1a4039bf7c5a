// `node scripts/run.mjs [file args...]`: makes the clone ready, then runs the file with the right Node.
import { spawn } from "node:child_process";
import { ready } from "./ready.mjs";

const node = await ready();
const args = process.argv.slice(2);
if (args.length > 0) {
  const child = spawn(node, args, { stdio: "inherit" });
  process.on("SIGINT", () => {}); // the terminal sends it to the child too, which decides
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("exit", (code) => process.exit(code ?? 1));
}
