/** Ways to start and to stop agents with their trees: midwatch, and the three that it is compared with. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import treeKill from "tree-kill";
import { openWorkspace, type Report } from "../../src/index.ts";
import { isAlive, kill, type Listed } from "./process.ts";
import type { Options } from "./row.ts";

export const GRACE_MS = 1000;
/** The word that the seed looks for beside the agent's id. */
export const WORD = "claude";

export interface Stopper {
  /** Starts all and returns their ids. `argv` makes an agent's command line, which holds `id`. */
  start(count: number, argv: (i: number, id: string) => string[]): Promise<string[]>;
  /** Resolves when it believes that all are stopped. `started` are the processes that a signal may go to. */
  stop(started: () => readonly Listed[]): Promise<Stopped>;
  close(): void;
}

interface Stopped {
  reports: Report[];
  /** Processes that a search by text would have killed and that are none of the bench's. */
  strangers: number;
}

const NO_REPORT: Stopped = { reports: [], strangers: 0 };

export function midwatch(options: Options, tier: "auto" | "subreaper"): Stopper {
  const workspace = openWorkspace({ workspace: join(options.dir, tier), make: true, config: { tier } });
  let ids: string[] = [];
  return {
    async start(count, argv) {
      ids = [];
      for (let i = 0; i < count; i += 10) {
        const some = Array.from({ length: Math.min(10, count - i) }, (_, k) =>
          workspace.runs.start({ argv: argv(i + k, `agent-${i + k}`), name: `agent-${i + k}` }),
        );
        ids.push(...(await Promise.all(some)).map(({ agent }) => agent));
      }
      return ids;
    },
    stop: async () => ({ reports: await workspace.runs.stop(ids, { graceMs: GRACE_MS }), strangers: 0 }),
    close: () => workspace.close(),
  };
}

/** `kill -TERM -PGID`, the grace, `kill -KILL -PGID`: execa, GitLab runner and most others. */
export function processGroup(): Stopper {
  const children = new Children();
  return {
    start: (count, argv) => children.start(count, argv, true),
    async stop() {
      const groups = children.pids();
      for (const group of groups) kill(-group, "SIGTERM");
      const deadline = performance.now() + GRACE_MS;
      while (performance.now() < deadline && groups.some(hasGroup)) await sleep(10);
      // It waits no further: a group also counts zombies, and those are another process's to reap.
      for (const group of groups.filter(hasGroup)) kill(-group, "SIGKILL");
      return NO_REPORT;
    },
    close: () => children.close(),
  };
}

function hasGroup(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

/** tree-kill 1.2.2 with SIGKILL, all agents at once: one `ps --ppid` for each process of a tree. */
export function killTree(): Stopper {
  const children = new Children();
  return {
    start: (count, argv) => children.start(count, argv, false),
    async stop() {
      await Promise.all(children.pids().map((pid) => promisify<number, string>(treeKill)(pid, "SIGKILL")));
      return NO_REPORT;
    },
    close: () => children.close(),
  };
}

class Children {
  #children: ChildProcess[] = [];

  async start(count: number, argv: (i: number, id: string) => string[], detached: boolean): Promise<string[]> {
    const ids = Array.from({ length: count }, (_, i) => `agent-${process.pid}-${i}`);
    this.#children = ids.map((id, i) => {
      const [command = "", ...args] = argv(i, id);
      return spawn(command, args, { detached, stdio: "ignore" });
    });
    return ids;
  }

  pids(): number[] {
    return this.#children.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  close(): void {
    for (const child of this.#children) child.unref();
  }
}

const SEED_SLEEPS_MS = [500, 1000, 2000] as const;

/**
 * The seed: a tmux session for each agent with its output through tee; to stop, kill-session, half a second, then up to
 * three looks for lines of `ps aux` with the agent's id and the word, and SIGKILL for what matches at the last one. Here a
 * signal is really sent only to processes that the bench itself started.
 */
export function seed(options: Options): Stopper {
  const socket = join(options.dir, "tmux.sock");
  const tmux = (...args: string[]): string =>
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8", cwd: options.dir });
  let ids: string[] = [];
  return {
    async start(count, argv) {
      // A first session of its own, so that no agent's id is in the command line of the server (kinder than life).
      if (!existsSync(socket)) tmux("new-session", "-d", "-s", "idle", options.load("still"), "1");
      ids = Array.from({ length: count }, (_, i) => `agent-${process.pid}-${i}`);
      for (const [i, id] of ids.entries()) {
        const command = argv(i, id).map((part) => `'${part}'`);
        tmux("new-session", "-d", "-s", id, `${command.join(" ")} | tee -a '${join(options.dir, `${id}.log`)}'`);
      }
      return ids;
    },
    async stop(started) {
      let strangers = 0;
      for (const id of ids) {
        tmux("kill-session", "-t", id);
        await sleep(500);
        for (const [attempt, pause] of SEED_SLEEPS_MS.entries()) {
          if (matching(id).length === 0) break;
          await sleep(pause);
          if (attempt < SEED_SLEEPS_MS.length - 1) continue;
          const mine = new Map(
            started()
              .filter(isAlive)
              .map((one) => [one.pid, one]),
          );
          for (const pid of matching(id)) {
            if (mine.has(pid)) kill(pid, "SIGKILL");
            else strangers++;
          }
        }
      }
      return { reports: [], strangers };
    },
    close() {
      if (existsSync(socket)) tmux("kill-server");
    },
  };
}

function matching(id: string): number[] {
  const text = execFileSync("ps", ["aux"], { encoding: "utf8", maxBuffer: 64 << 20 });
  return text
    .split("\n")
    .filter((line) => line.includes(id) && line.toLowerCase().includes(WORD))
    .map((line) => Number(line.trim().split(/\s+/)[1]));
}
