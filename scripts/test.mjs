// Everything that has to hold before a change may go in. Each step runs even when an earlier one failed.
import { spawn } from "node:child_process";
import { needCommands, ready, root, say } from "./ready.mjs";

needCommands(["gcc", "make", "jq", "strace", "tmux", "valgrind", "chromium"]);
await ready();

/** Lanes go side by side: what is fetched waits for the network while the others check. What a step prints comes when it ends. */
const LANES = [
  [["biome", "ci"], ["tsc", "-b"], ["knip"], ["make", "-s", "-C", "keeper", "check"]],
  [["node", "scripts/real-clis.mjs"]],
  [["node", "scripts/nats-server.mjs"]],
];
const LAST = ["vitest", "run"];

const failed = [];
await Promise.all(
  LANES.map(async (steps) => {
    for (const step of steps) await run(step, "pipe");
  }),
);
await run(LAST, "inherit");

async function run([command, ...args], output) {
  const name = [command, ...args].join(" ");
  const startedAt = Date.now();
  say(`${name} ...`);
  const printed = [];
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", output, output] });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part) => printed.push(part));
  const status = await new Promise((resolve) => {
    child.on("error", () => resolve(127));
    child.on("close", resolve);
  });
  process.stderr.write(Buffer.concat(printed));
  say(`${name}: ${status === 0 ? "ok" : "FAILED"} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  if (status !== 0) failed.push(name);
}

if (failed.length > 0) {
  say(`failed: ${failed.join(", ")}`);
  process.exit(1);
}
say("all good");
