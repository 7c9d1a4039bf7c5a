// Everything that has to hold before a change may go in. Each step runs even when an earlier one failed.
import { spawnSync } from "node:child_process";
import { needCommands, ready, root, say } from "./ready.mjs";

needCommands(["gcc", "make", "jq", "strace", "tmux", "valgrind", "chromium"]);
await ready();

const steps = [
  ["biome", "ci"],
  ["tsc", "-b"],
  ["knip"],
  ["node", "scripts/real-clis.mjs"],
  ["node", "scripts/nats-server.mjs"],
  ["vitest", "run"],
  ["make", "-s", "-C", "keeper", "check"],
];

const failed = steps.filter(([command, ...args]) => {
  const name = [command, ...args].join(" ");
  const startedAt = Date.now();
  say(`${name} ...`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  say(`${name}: ${status === 0 ? "ok" : "FAILED"} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return status !== 0;
});

if (failed.length > 0) {
  say(`failed: ${failed.map((step) => step.join(" ")).join(", ")}`);
  process.exit(1);
}
say("all good");
