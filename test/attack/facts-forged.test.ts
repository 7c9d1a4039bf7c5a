/** An agent writes facts about itself: they are claims. What it is and whether it has ended the kernel says. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { Lab, lives, text, until } from "../support/workspace.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const nobody = { pid: 2 ** 22 - 1, start_ticks: 7 };
const done = {
  v: 1,
  verified: true,
  guarantee: "cgroup",
  processes: [],
  processes_total: 0,
  left: [],
  children: [],
  took_ms: 1,
  log_bytes: 0,
  log_lines: 0,
  stderr_bytes: 0,
  mirrored: false,
  durable: true,
  removed: [],
  ended_at: NOW,
};
const exit = {
  v: 1,
  code: 0,
  signal: null,
  core: false,
  ended_at: NOW,
  user_ms: 1,
  system_ms: 1,
  max_rss_kb: 1,
  stop_requested: false,
  limit: null,
};
const cleanup = { result: null, files: [], freed_bytes: 0, at: NOW };

type Forge = (at: { dir: string; nonce: string; victim: { pid: number; start_ticks: number } }) => void;
const put =
  (name: string, fact: object): Forge =>
  ({ dir }) =>
    writeFileSync(join(dir, name), `${JSON.stringify(fact)}\n`);
const change =
  (name: string, how: (fact: Record<string, unknown>, at: Parameters<Forge>[0]) => object): Forge =>
  (at) =>
    put(name, how(JSON.parse(readFileSync(join(at.dir, name), "utf8")), at))(at);
const all =
  (...forges: Forge[]): Forge =>
  (at) => {
    for (const forge of forges) forge(at);
  };

const FORGED: Record<string, Forge> = {
  "done.json": put("done.json", done),
  "done.json, exit.json and cleanup.json": all(
    put("exit.json", exit),
    put("done.json", done),
    put("cleanup.json", cleanup),
  ),
  "a done.json without proof": put("done.json", { ...done, verified: false }),
  "exit.json": put("exit.json", exit),
  "a claim by a launcher": change("claim", (fact) => ({ ...fact, by: "launcher", why: "never started" })),
  "a claim by another process": change("claim", (fact, { victim }) => ({ ...fact, ...victim })),
  "a claim by nobody": change("claim", (fact) => ({ ...fact, ...nobody })),
  "a claim of later": change("claim", (fact) => ({ ...fact, start_ticks: 2 ** 52 })),
  "a start of other processes": change("start.json", (fact, { victim }) => ({ ...fact, keeper: victim, main: victim })),
  "a start in another boot": change("start.json", (fact) => ({ ...fact, boot_id: "0", cgroup: null })),
  "a start in another namespace": change("start.json", (fact) => ({ ...fact, pid_ns: "1" })),
  "a start in somebody's cgroup": change("start.json", (fact, { victim }) => ({
    ...fact,
    cgroup: cgroupOf(victim.pid),
  })),
  "a failed exec": change("start.json", (fact) => ({
    ...fact,
    main: null,
    exec_error: { errno: 2, name: "ENOENT", what: "exec" },
  })),
  "stuck.json": put("stuck.json", { left: [{ pid: 1, name: "init", uid: 0, why: "alive" }], since: NOW }),
  "hold.json": put("hold.json", { why: "disk", since: NOW }),
  "cleanup.json": put("cleanup.json", cleanup),
  "adopt.json": (at) => put("adopt.json", { by: "adopter", ...at.victim, nonce: at.nonce, at: NOW })(at),
  members: ({ dir, victim }) => writeFileSync(join(dir, "members"), `${victim.pid} ${victim.start_ticks}\n`),
  "stop.json with a grace of weeks": put("stop.json", { v: 1, reason: null, grace_ms: 1e9 }),
  "an intent of another run": change("intent.json", (fact) => ({ ...fact, agent: "somebody-else" })),
  "no facts at all": ({ dir }) => {
    for (const name of readdirSync(dir)) rmSync(join(dir, name));
  },
  "no folder": ({ dir }) => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 }),
};

const cgroupOf = (pid: number): string => `/sys/fs/cgroup${/0::(.*)/.exec(text(`/proc/${pid}/cgroup`))?.[1] ?? "/"}`;

let lab: Lab;
let bystander: ChildProcess;
let victim: { pid: number; start_ticks: number };
beforeAll(async () => {
  lab = new Lab();
  bystander = lab.watch(spawn("sleep", ["1000"], { stdio: "ignore" }));
  await until(() => text(`/proc/${bystander.pid}/cmdline`).startsWith("sleep"));
  const ticks = text(`/proc/${bystander.pid}/stat`).split(") ").at(-1)?.split(" ")[19];
  victim = { pid: bystander.pid as number, start_ticks: Number(ticks) };
});
afterAll(() => lab.end());

/** By what stands in its command line and nowhere else. */
const living = (mark: string): string[] =>
  readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && text(`/proc/${pid}/cmdline`).includes(mark));

async function agent(): Promise<{ record: RunRecord; mark: string }> {
  const mark = `1000.${Math.random().toString().slice(2, 12)}`;
  const record = await lab.workspace.runs.start({ argv: ["sh", "-c", `sleep ${mark} & sleep ${mark}`] });
  await until(() => living(mark).length >= 2);
  return { record, mark };
}

describe.each(["its keeper lives", "its keeper was killed"])("while %s", (how) => {
  it.each(Object.keys(FORGED))(
    "an agent forges %s: it is not taken for ended, a stop ends it, nobody else is hurt",
    async (what) => {
      const { record, mark } = await agent();
      const { keeper } = lab.startFact(record);
      const { nonce } = lab.intent(record);
      if (how === "its keeper was killed") {
        process.kill(keeper.pid, "SIGKILL");
        await until(() => !lives(keeper));
      }
      FORGED[what]?.({ dir: lab.runDir(record), nonce, victim });
      const listed = (await lab.workspace.runs.list({ all: true })).find((one) => one.agent === record.agent);
      expect(listed?.phase).toMatch(/^(running|lost|stopping|stuck|exited)$/);
      expect(listed?.outcome).not.toBe("completed");
      const [report] = await lab.workspace.runs.stop([record.agent], { graceMs: 0 });
      expect([report?.verified, report?.left, living(mark)]).toEqual([true, [], []]);
      expect(lives(victim)).toBe(true);
      const [again] = await lab.workspace.runs.stop([record.agent], { graceMs: 0 });
      expect([again?.verified, again?.already_stopped]).toEqual([true, true]);
    },
  );
});

it("a forged done.json is told once, and its keeper takes it away", async () => {
  const { record } = await agent();
  const path = join(lab.runDir(record), "done.json");
  writeFileSync(path, `${JSON.stringify(done)}\n`);
  const told = (): number =>
    text(join(lab.root, "events.log")).split(`${record.agent}: done.json was written by somebody else`).length - 1;
  await until(() => told() === 1 && text(path) === "");
  writeFileSync(path, `${JSON.stringify(done)}\n`);
  await until(() => text(path) === "");
  expect(told()).toBe(1);
});
