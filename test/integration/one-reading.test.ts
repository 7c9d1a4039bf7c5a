import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AgentSummary } from "../../src/fleet/workspace.ts";
import { parsed } from "../support/cli/counting-driver.ts";
import { lab } from "../support/lab.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, supportFile, until } from "../support/workspace.ts";

const said = (n: number): string =>
  JSON.stringify({
    type: "assistant",
    message: {
      id: `m${n}`,
      content: [{ type: "text", text: `line ${n}` }],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  });

/** 300 lines in bursts; waits in between, so that rounds meet it half-way. */
const SPEAKS = Array.from(
  { length: 10 },
  (_, burst) => `${Array.from({ length: 30 }, (_, i) => `echo '${said(burst * 30 + i)}'`).join("\n")}\nsleep 0.3`,
).join("\n");

it("`up` with limits parses each line once: for limits, messages, the verdict and the result at the end", async () => {
  const made = lab({ token_limit: 1_000_000, interactive_idle: "1ms" });
  writeConfig(made.folder, { drivers: { counting: supportFile("cli/counting-driver.ts") } });
  parsed.clear();
  const workspace = made.open();
  const { agent } = await workspace.runs.start({ driver: "counting", prompt: SPEAKS });
  const ending = new AbortController();
  const up = (async () => {
    for await (const _ of workspace.up.keep({ signal: ending.signal, tell: () => undefined }));
  })();
  try {
    await until(() => workspace.verdicts.stored(agent, 1)?.final, 60_000);
  } finally {
    ending.abort();
    await up;
  }
  expect(await workspace.runs.show(agent)).toMatchObject({ phase: "drained", tokens: { input: 300, output: 300 } });
  const counts = Array.from({ length: 300 }, (_, n) => parsed.get(JSON.stringify(JSON.parse(said(n)))));
  expect(new Set(counts)).toEqual(new Set([1]));
});

it("R-000.33, R-001.5: a log that is deleted and made again is not read twice while it is shorter than it was", async () => {
  const made = lab();
  const first = 200_000;
  const { agent, log } = await made.sh(
    `yes 'a line of forty characters, newline too' | head -n ${first}; until [ -e go ]; do sleep 0.02; done; seq 10`,
  );
  const watcher = made.workspace.verdicts.rounds();
  let lines = 0;
  const round = async (): Promise<AgentSummary | undefined> => {
    const done = await watcher.round();
    lines += done.lines;
    return done.summaries.find(({ instance_id }) => instance_id === agent);
  };
  await until(async () => (await round())?.position.line === first, 60_000);
  const { size } = statSync(log);
  rmSync(dirname(log), { recursive: true, maxRetries: 20, retryDelay: 5 });
  await until(async () => {
    await round();
    return statSync(log, { throwIfNoEntry: false })?.size === size;
  }, 60_000);
  writeFileSync(join(made.folder, "go"), "");
  let last: AgentSummary | undefined;
  await until(async () => {
    last = (await round()) ?? last;
    return last?.final;
  }, 60_000);
  expect(last?.position).toMatchObject({ line: first + 10, missed_bytes: 0 });
  expect(lines).toBe(first + 10);
});

const strace = existsSync("/usr/bin/strace");
if (!strace) console.warn("SKIPPED: there is no strace. Next: apt-get install strace");

it.skipIf(!strace)("`logs -f` of a run that does nothing asks for one stat a poll (strace)", async () => {
  const made = lab();
  const { agent } = await made.sh("echo here; sleep 600");
  const trace = join(made.folder, "trace");
  const calls = ["-f", "-e", "trace=kill,stat,lstat,fstat,newfstatat,statx,openat,getdents64", "-o", trace];
  const follower = spawn("strace", [...calls, process.execPath, CLI, "logs", "-f", agent], {
    cwd: made.folder,
    stdio: "ignore",
  });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => follower.once("exit", resolve));
    // The traced process: strace itself waits for it.
    process.kill(Number.parseInt(readFileSync(trace, "utf8"), 10), "SIGTERM");
    await ended;
  });
  // Each poll asks whether the keeper's pid is in use: kill(pid, 0).
  const polls = (): string[] => readFileSync(trace, "utf8").split(/^.*\bkill\(\d+, 0\).*$/m);
  await until(() => existsSync(trace) && polls().length > 25, 60_000);
  const last = polls()
    .slice(-12, -1)
    .map((calls) => calls.split("\n").filter((line) => line.includes("(")).length);
  // Once in a while all facts are read again: a pid may be another process by now.
  expect(last.filter((count) => count <= 1).length).toBeGreaterThanOrEqual(last.length - 1);
});
