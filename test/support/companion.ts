/**
 * A lab whose runs call the companion, as people's do, and what can be seen of it from outside: its record, its processes. The command line
 * is the built one in a process of its own; the agent CLI is a script that loops and tells what it uses, as Claude Code does.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ListRecord, Report, ShowRecord } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { readProcess } from "../../src/process/identity.ts";
import { CLI, type Ended, ended, Lab, lives, type Survivor, text, until } from "./workspace.ts";

/** What one expensive line costs, by the list of prices. */
export const LIMIT = "0.05";

export class CompanionLab extends Lab {
  readonly env: NodeJS.ProcessEnv;

  constructor(folder?: string) {
    super({}, folder);
    const line = (id: string, tokens: number): string =>
      JSON.stringify({
        type: "assistant",
        message: {
          id,
          model: "claude-opus-4-5",
          content: [{ type: "text", text: "again" }],
          usage: { input_tokens: tokens, output_tokens: 10 },
        },
      });
    // Cheap until somebody says go: then each line is past any limit here.
    const script = `#!/bin/sh
i=0
while :; do
  i=$((i+1))
  if [ -e "${this.folder}/go" ]; then echo '${line("m-'$i'", 40_000)}'; else echo '${line("cheap", 10)}'; fi
  sleep 0.2
done
`;
    writeFileSync(join(this.folder, "claude"), script, { mode: 0o755 });
    this.env = {
      ...process.env,
      MIDWATCH_COMPANION: "auto",
      MIDWATCH_GRACE: "500ms",
      PATH: `${this.folder}:${process.env["PATH"]}`,
    };
  }

  /** `midwatch ARGS` as a person's shell calls it, with the companion. */
  midwatch(...args: string[]): Promise<Ended> {
    return ended(this.spawn(...args));
  }

  spawn(...args: string[]): ReturnType<typeof spawn> {
    const options = { cwd: this.folder, env: this.env, stdio: ["ignore", "pipe", "pipe"] as const };
    return this.watch(
      spawn(process.execPath, [CLI, "--workspace", this.root, ...args], { ...options, stdio: [...options.stdio] }),
    );
  }

  /** A looping agent with a limit of money. */
  async loops(...flags: string[]): Promise<RunRecord> {
    const limits = flags.length > 0 ? flags : ["--limit-cost", LIMIT];
    return await this.json<RunRecord>("run", "--json", "--no-mcp", "--driver", "claude", ...limits, "loop");
  }

  async json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.midwatch(...args);
    if (stdout === "") throw new Error(`${args.join(" ")}: ${code} ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async list(...flags: string[]): Promise<ListRecord[]> {
    const { stdout } = await this.midwatch("ls", "--json", ...flags);
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ListRecord);
  }

  show(agent: string): Promise<ShowRecord> {
    return this.json<ShowRecord>("show", "--json", agent);
  }

  stop(...args: string[]): Promise<Report> {
    return this.json<Report>("stop", "--json", ...args);
  }

  /** From now on the looping agents are expensive. */
  go(): void {
    writeFileSync(join(this.folder, "go"), "");
  }

  /** What the state folder says. */
  record(): { agent: string; task: string; nonce: string } | undefined {
    const name = createHash("sha256").update(this.root).digest("hex");
    const path = join(process.env["XDG_STATE_HOME"] ?? "", "midwatch", "companions", `${name}.json`);
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
  }

  /** Living processes that watch this workspace, started by midwatch or not; found by their arguments. */
  companions(): Survivor[] {
    return this.#calledWith(["companion", "watch", this.root]);
  }

  starters(): Survivor[] {
    return this.#calledWith(["companion", "start", this.root]);
  }

  /** Of the companion's recorded run. */
  keeper(): Survivor | undefined {
    const nonce = this.record()?.nonce ?? "";
    return nonce === "" ? undefined : this.#calledWith([nonce])[0];
  }

  #calledWith(words: readonly string[]): Survivor[] {
    return readdirSync("/proc").flatMap((entry) => {
      const pid = Number(entry);
      if (!Number.isInteger(pid)) return [];
      const found = text(`/proc/${pid}/cmdline`).includes(`\0${words.join("\0")}\0`) ? readProcess(pid) : undefined;
      return found === undefined ? [] : [{ pid, start_ticks: found.start_ticks, name: found.name, keeper: false }];
    });
  }

  /** The companion, once it is there and watches. */
  async comes(ms = 15_000): Promise<Survivor> {
    await until(() => this.companions().length > 0, ms, "a companion comes");
    const [one] = this.companions();
    if (one === undefined) return await this.comes(ms);
    await until(async () => !lives(one) || (await this.watcher()) === one.pid, ms, "it watches");
    return lives(one) ? one : await this.comes(ms);
  }

  /** Who holds the lease, and lives. */
  async watcher(): Promise<number | null> {
    const leader = await this.workspace.journal.leader();
    return leader.state === "held" ? leader.pid : null;
  }

  async isGone(ms = 5000): Promise<void> {
    await until(
      () => this.companions().length + this.starters().length === 0 && this.keeper() === undefined,
      ms,
      "it goes",
    );
  }

  /** Those who need it first: else it comes back. */
  override async end(): Promise<void> {
    const live = (await this.workspace.runs.list()).filter(({ outcome }) => outcome === null);
    await this.workspace.runs
      .stop(
        live.map(({ agent }) => agent),
        { graceMs: 0 },
      )
      .catch(() => undefined);
    await this.isGone(15_000).catch(() => undefined);
    for (const { pid, start_ticks } of [...this.companions(), ...this.starters()])
      if (readProcess(pid)?.start_ticks === start_ticks) process.kill(pid, "SIGKILL");
    await super.end();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
  }
}
