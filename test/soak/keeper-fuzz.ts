/**
 * The keeper under ASan and UBSan, over every file that it reads and an agent can write: messages.jsonl, members, claim, start.json, adopt.json,
 * stop.json, ran, hold.json, exit.json, done.json, intent.json, the index. Each round one keeper runs an agent among damaged files, is killed,
 * another takes over, and a third looks for members; none may report a fault, hang, or leave the agent alive. `count` is in seconds.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pick, random } from "../support/data/random.ts";
import { processesWith, supportFile, text, until } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const KEEPER = supportFile("../../keeper");
const FILES = [
  "messages.jsonl",
  "members",
  "claim",
  "start.json",
  "adopt.json",
  "stop.json",
  "ran",
  "hold.json",
  "exit.json",
  "done.json",
  "intent.json",
];
const LOGS = { log: "a_stream.jsonl", err: "a_stderr.log", idx: "a_stream.idx" };
type Next = () => number;

export function keeperFuzz(seconds: number, seed = 1): Promise<Report> {
  return campaign("keeper fuzz", seconds, seed, async (fail, figures) => {
    execFileSync("make", ["-s", "-C", KEEPER, "build/asan"]);
    const next = random(seed);
    const place = mkdtempSync(join(tmpdir(), "midwatch-keeper-fuzz-"));
    const end = performance.now() + seconds * 1000;
    let rounds = 0;
    try {
      for (; rounds === 0 || performance.now() < end; rounds++) {
        const said = await round(join(place, String(rounds)), next);
        if (said !== undefined) fail(`round ${rounds} of seed ${seed}: ${said}`);
      }
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
    figures["rounds"] = rounds;
  });
}

async function round(root: string, next: Next): Promise<string | undefined> {
  const nonce = randomBytes(16).toString("hex");
  const dir = join(root, "T", "runs", "a", "1");
  for (const folder of [dir, join(root, "T", "logs"), join(root, "active")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, "active", "a.1"), "T/runs/a/1\n");
  const damage = (names: readonly string[]): void => {
    for (const name of names)
      if (next() < 0.6) writeFileSync(join(dir, name), mutated(next, text(join(dir, name)), nonce));
  };
  try {
    damage(["messages.jsonl", "members", "ran", "intent.json"]);
    const first = keeper(root, dir, nonce, "run", "sleep 1000");
    await until(() => existsSync(join(dir, "start.json")) || !isAlive(first.pid), 15_000, "it has begun");
    damage(FILES);
    first.kill("SIGCONT");
    if (next() < 0.7) first.kill("SIGKILL");
    else first.kill("SIGTERM");
    await until(() => !isAlive(first.pid), 20_000, "the first keeper has ended");
    damage(FILES);
    if (next() < 0.3) writeFileSync(join(root, "T", "logs", LOGS.idx), mutated(next, "", nonce));
    const scan = spawnSync(join(KEEPER, "build", "asan"), ["scan", `${nonce}=${dir}`], {
      env: { ASAN_OPTIONS: "detect_leaks=0", MIDWATCH_SCAN_ROOT: root },
      encoding: "utf8",
      timeout: 20_000,
    });
    if (scan.status !== 0) return `scan: ${scan.status} ${scan.stderr.slice(0, 2000)}`;
    rmSync(join(dir, "done.json"), { force: true });
    const second = keeper(root, dir, nonce, "adopt", "");
    await until(
      () => /adopt|error/.test(text(join(root, "answer.adopt"))) || !isAlive(second.pid),
      20_000,
      "it has answered",
    );
    second.kill("SIGTERM");
    await until(() => !isAlive(second.pid), 20_000, "the second keeper has ended");
    return faultIn(root);
  } finally {
    for (const { pid } of processesWith([nonce])) process.kill(pid, "SIGKILL");
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
    rmSync(`/tmp/mw-${nonce}`, { recursive: true, force: true });
  }
}

function keeper(
  root: string,
  dir: string,
  nonce: string,
  verb: "run" | "adopt",
  script: string,
): ReturnType<typeof spawn> {
  const logs = Object.entries(LOGS).map(([key, name]) => `${key}=${join(root, "T", "logs", name)}`);
  const agent = verb === "run" ? ["arg=sh", "arg=-c", `arg=${script}`] : ["done=damaged"];
  const orders = [
    `dir=${dir}`,
    `root=${root}`,
    ...logs,
    `fifo=${join(dir, "input")}`,
    `events=${join(root, "events.log")}`,
    "tier=subreaper",
    "grace_ms=0",
    "wall_ms=100000",
    ...agent,
  ];
  // Its answer and its faults go to files: nobody reads a pipe of it.
  const child = spawn(
    "sh",
    [
      "-c",
      `exec "$0" "$@" >"${root}/answer.${verb}" 2>"${root}/faults.${verb}"`,
      join(KEEPER, "build", "asan"),
      verb,
      "a.1",
      nonce,
    ],
    {
      env: { PATH: process.env["PATH"], ASAN_OPTIONS: `detect_leaks=0:log_path=${root}/asan.${verb}` },
      stdio: ["pipe", "ignore", "ignore"],
    },
  );
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(`${orders.join("\0")}\0end\0`);
  return child;
}

function isAlive(pid: number | undefined): boolean {
  const stat = text(`/proc/${pid}/stat`);
  return stat !== "" && !/\) [ZX] /.test(stat);
}

function faultIn(root: string): string | undefined {
  const files = readdirSync(root).filter((name) => /^(asan|faults)\./.test(name));
  const said = files
    .map((name) => readFileSync(join(root, name), "utf8"))
    .find((one) => /ERROR:|runtime error/.test(one));
  return said?.slice(0, 3000);
}

const WORDS = [
  '"pid":',
  '"start_ticks":',
  '"nonce":"',
  '"by":"launcher"',
  '"cgroup":"',
  '"main":{',
  '"main":null',
  '"boot_id":"',
  '"end":',
  '"state":"injected"',
  ',"input":"',
  '{"id":"00000000-0000-4000-8000-000000000000",',
  '"}',
  "\\u",
  "\\",
  "\n",
  "\0",
  "-1",
  "99999999999999999999",
  "1 1\n",
  "{",
  "}",
];

/** What was there, changed in some places, or something made of the words that the keeper looks for. */
function mutated(next: Next, was: string, nonce: string): Buffer {
  const some = (n: number): string =>
    Array.from({ length: Math.floor(next() * n) }, () => pick(next, [...WORDS, nonce])).join("");
  const bytes = Buffer.from(
    next() < 0.5 && was !== "" ? was : some(40) + (next() < 0.1 ? "x".repeat(100_000) : ""),
    "latin1",
  );
  for (let i = Math.floor(next() * 4); i > 0 && bytes.length > 0; i--)
    bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
  const cut = next() < 0.2 ? bytes.subarray(0, Math.floor(next() * bytes.length)) : bytes;
  return next() < 0.5 ? Buffer.concat([cut, Buffer.from("\n")]) : cut;
}
