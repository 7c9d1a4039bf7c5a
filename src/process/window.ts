/**
 * A window on an agent: a tmux server of this workspace's own, in which `midwatch logs -f --pretty` runs. It only shows. Whatever becomes of
 * the server, its socket or the terminal, the agent has no part in it.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { withoutOuterRun } from "./environment.ts";
import { selfCommand } from "./self.ts";

/** `closed`: it was left or it ended. `failed`: tmux said no. `absent`: there is no tmux. */
export type Window = "closed" | "failed" | "absent";

/** One server a workspace, apart from the user's own; tmux keeps its socket in a folder that is 0700. */
export function windowServer(root: string): string {
  return `midwatch-${createHash("sha256").update(root).digest("hex").slice(0, 12)}`;
}

/** Opens the agent's window, or the one that is there, in this terminal, and returns when it is left; the signal leaves it. A session for each agent: two people do not switch each other's view. */
export function openWindow(root: string, agent: string, env: NodeJS.ProcessEnv, signal?: AbortSignal): Promise<Window> {
  const show = selfCommand(["logs", "-f", "--pretty", "--workspace", root, agent]);
  // The command as separate words: tmux executes it itself, no shell reads it.
  const args = ["-L", windowServer(root), "-f", "/dev/null", "new-session", "-A", "-s", agent, "-n", agent, ...show];
  const tmux = spawn("tmux", args, { env: ownTerminal(env), stdio: "inherit" });
  const leave = (): void => void tmux.kill("SIGHUP");
  signal?.addEventListener("abort", leave, { once: true });
  return new Promise((resolve) => {
    tmux.once("error", () => resolve("absent"));
    tmux.once("exit", (code) => resolve(code === 0 ? "closed" : "failed"));
  });
}

/** A server of ours is no part of a run, nor of the tmux that we may be in: neither's variables belong in it. */
function ownTerminal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { TMUX: _server, TMUX_PANE: _pane, ...rest } = withoutOuterRun(env);
  return rest;
}
