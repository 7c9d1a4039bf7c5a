// Every command that lasts is asked to end, as a terminal, a supervisor and a parent that passes signals on do it: to the group, and twice.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { lab } from "../support/lab.ts";
import { processesOf } from "../support/left.ts";
import { CLI, type Lab, text, until } from "../support/workspace.ts";

const COMMANDS = [
  ["up", "--port", "0"],
  ["run", "--wait", "--", "sleep", "300"],
  ["wait", "AGENT"],
  ["logs", "-f", "AGENT"],
  ["watch"],
  ["snapshot", "--watch"],
  ["events", "-f"],
  ["attach", "AGENT"],
  ["mcp"],
];
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function start(at: Lab, words: readonly string[]): ChildProcess {
  return at.watch(
    spawn(process.execPath, [CLI, "--workspace", at.root, ...words], {
      cwd: at.folder,
      env: { ...process.env, MIDWATCH_GRACE: "500ms" },
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    }),
  );
}

/** It listens: what it does at the signal is its own decision. SIGHUP tells, because Node itself does not catch it. */
function listens({ pid }: ChildProcess): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(text(`/proc/${pid}/status`))?.[1] ?? "0";
  return ((BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGHUP - 1)) & 1n) === 1n;
}

describe.each(SIGNALS)("%s to its group, twice", (signal) => {
  it.each(COMMANDS.map((words) => [words.slice(0, 2).join(" "), words] as const))(
    "ends %s, and no agent",
    async (_, words) => {
      const at = lab();
      const { agent } = await at.sh("echo hello; exec sleep 300");
      const child = start(
        at,
        words.map((word) => (word === "AGENT" ? agent : word)),
      );
      const ended = once(child, "exit");
      await until(() => listens(child), 30_000, "it listens");
      if (words[0] === "run") await until(async () => (await at.workspace.runs.list()).length === 2);
      process.kill(-(child.pid as number), signal);
      try {
        process.kill(-(child.pid as number), signal);
      } catch {
        // It was quick.
      }
      expect(await ended).toEqual([128 + constants.signals[signal], null]);
      const mine = at.survivors(true).map(({ pid }) => String(pid));
      expect(processesOf(at.folder).filter((pid) => !mine.includes(pid))).toEqual([]);
      const phases = (await at.workspace.runs.list()).map(({ phase }) => phase);
      expect(phases).toEqual(words[0] === "run" ? ["running", "running"] : ["running"]);
    },
  );
});

it("what npm has started ends when npm dies, also when that was before it began", async () => {
  const script = fileURLToPath(new URL("../../scripts/run.mjs", import.meta.url));
  // The shell is the session's leader and gone at once; only then the script begins, as somebody else's child.
  const late = `(sleep 0.5; exec '${process.execPath}' '${script}' -e 'setInterval(() => {}, 1000)') & echo $!`;
  const shell = spawn("sh", ["-c", late], {
    env: { ...process.env, npm_lifecycle_event: "start" },
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [said] = (await once(shell.stdout, "data")) as [Buffer];
  const pid = Number(String(said));
  onTestFinished(() => {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
  });
  await until(() => text(`/proc/${pid}/cmdline`).includes("run.mjs"), 10_000, "it begins");
  await until(() => !existsSync(`/proc/${pid}`), 10_000, "it ends");
});
