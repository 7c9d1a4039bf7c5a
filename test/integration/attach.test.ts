import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, statSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { windowServer } from "../../src/process/window.ts";
import { identify, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { CLI, ended, type Lab, text, until } from "../support/workspace.ts";

const hasTools = ["tmux", "script"].every((tool) => {
  const there = (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, tool)));
  if (!there) console.warn(`SKIPPED: ${tool} is not installed; windows were not tried.`);
  return there;
});
const TICKS = "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.05; done";

/** `midwatch attach` on a terminal of its own; `screen` is all that was drawn on it. */
class Terminal {
  readonly child: ChildProcess;
  readonly at: Lab;
  screen = "";

  constructor(at: Lab, args: readonly string[], env: Record<string, string> = {}) {
    this.at = at;
    const words = [process.execPath, CLI, "--workspace", at.root, "attach", ...args].map((word) => `'${word}'`);
    this.child = spawn("script", ["-qefc", words.join(" "), "/dev/null"], {
      cwd: at.folder,
      env: { ...process.env, TERM: "xterm", TMUX_TMPDIR: at.folder, ...env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.child.stdout?.on("data", (part) => (this.screen += part));
    onTestFinished(() => void this.child.kill("SIGKILL"));
  }

  shows(what: string): Promise<void> {
    return until(() => this.screen.includes(what), 15_000, `shows ${what}: ${JSON.stringify(this.screen.slice(-300))}`);
  }
}

const socketOf = (at: Lab): string => join(at.folder, `tmux-${process.getuid?.()}`, windowServer(at.root));

function tmux(at: Lab, ...args: string[]): string {
  const env = { ...process.env, TMUX_TMPDIR: at.folder };
  return execFileSync("tmux", ["-L", windowServer(at.root), ...args], { env, encoding: "utf8", stdio: "pipe" }).trim();
}

/** The server of this workspace, for certain: its pid is what it says itself. Killed at the end of the test. */
async function serverOf(at: Lab): Promise<{ pid: number; start_ticks: number }> {
  await until(() => {
    try {
      return tmux(at, "list-sessions") !== "";
    } catch {
      return false;
    }
  });
  const server = identify(Number(tmux(at, "display-message", "-p", "#{pid}")));
  onTestFinished(() => kill9(server).catch(() => undefined));
  return server;
}

async function goesOn(at: Lab, agent: string, log: string): Promise<void> {
  const before = text(log).length;
  await until(() => text(log).length > before);
  expect(await at.workspace.runs.show(agent)).toMatchObject({ phase: "running" });
}

describe.skipIf(!hasTools)("a window", () => {
  it("shows the log in a tmux server of the workspace's own; left, it can be opened again; the agent has no part in it", async () => {
    const at = lab();
    const { agent, log } = await at.sh(TICKS);
    const terminal = new Terminal(at, [agent], { TMUX: "/tmp/somebody-elses,1,0" });
    await terminal.shows("tick ");
    const server = await serverOf(at);
    expect(statSync(join(socketOf(at), "..")).mode & 0o777).toBe(0o700);
    expect(tmux(at, "list-sessions", "-F", "#{session_name}")).toBe(agent);
    const started = text(`/proc/${server.pid}/environ`);
    expect(["MIDWATCH_NONCE", "TMUX="].filter((name) => started.includes(name))).toEqual([]);
    tmux(at, "detach-client", "-s", agent);
    expect((await ended(terminal.child)).code).toBe(0);
    expect(terminal.screen).toContain("running");
    await goesOn(at, agent, log);
    const again = new Terminal(at, [agent]);
    await again.shows("tick ");
    expect(tmux(at, "list-sessions", "-F", "#{session_name}")).toBe(agent);
    await at.workspace.runs.stop([agent]);
    await ended(again.child);
    expect(again.screen).toContain("stopped");
    await until(() => text(`/proc/${server.pid}/stat`) === "", 10_000, "the server goes with its last window");
  });

  it("its server killed: the agent goes on, nothing is lost, and another window opens", async () => {
    const at = lab();
    const { agent, log } = await at.sh(TICKS);
    const terminal = new Terminal(at, [agent]);
    await terminal.shows("tick ");
    await kill9(await serverOf(at));
    await ended(terminal.child);
    expect(terminal.screen).toContain("the agent has no part in that");
    await goesOn(at, agent, log);
    const again = new Terminal(at, [agent]);
    await again.shows("tick ");
    await serverOf(at);
    const ticks = text(log).trim().split("\n");
    expect(ticks).toEqual(ticks.map((_, i) => `tick ${i + 1}`));
  });

  it("its socket unlinked: the agent goes on, and another window opens", async () => {
    const at = lab();
    const { agent, log } = await at.sh(TICKS);
    const terminal = new Terminal(at, [agent]);
    await terminal.shows("tick ");
    const first = await serverOf(at);
    unlinkSync(socketOf(at));
    const again = new Terminal(at, [agent]);
    await again.shows("tick ");
    expect((await serverOf(at)).pid).not.toBe(first.pid);
    await goesOn(at, agent, log);
    await at.workspace.runs.stop([agent]);
    await Promise.all([ended(terminal.child), ended(again.child)]);
  });

  it("without tmux, with --no-tmux or without a terminal it follows the log", async () => {
    const at = lab();
    const { agent, log } = await at.sh(TICKS);
    const bin = join(at.folder, "bin");
    mkdirSync(bin);
    for (const tool of ["script", "sh"])
      symlinkSync(execFileSync("which", [tool], { encoding: "utf8" }).trim(), join(bin, tool));
    const bare = new Terminal(at, [agent], { PATH: bin, SHELL: join(bin, "sh") });
    await bare.shows("tmux is not here");
    await bare.shows("tick ");
    const asked = new Terminal(at, ["--no-tmux", agent]);
    await asked.shows("tick ");
    expect(asked.screen).not.toContain("tmux");
    asked.child.stdin?.write("\u0003");
    await ended(asked.child);
    expect(existsSync(socketOf(at))).toBe(false);
    await goesOn(at, agent, log);
    const piped = at.cli("attach", agent);
    await until(() => text(log).includes("tick 60"));
    await at.workspace.runs.stop([agent]);
    const { code, stdout } = await piped;
    expect([code, stdout.trim().split("\n").at(-1)]).toEqual([0, expect.stringContaining("stopped")]);
    expect((await at.cli("attach", agent)).stdout).toContain("tick");
  });
});
