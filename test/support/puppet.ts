/**
 * An agent that does what a test tells it, from inside its run: its CLI is a script that plays the part of Claude Code and runs what it finds in its
 * inbox. So it has a driver, a permission and a keeper as a real one has, and no model.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import type { StartOptions } from "../../src/run/launch-plan.ts";
import { CLI, type Ended, type Lab, supportFile, until } from "./workspace.ts";

export class Puppets {
  /** Opened since `claude` is a puppet. */
  readonly workspace: Workspace;
  readonly #at: Lab;
  readonly #inbox: string;

  /** Puts a `claude` of its own first on PATH, for this test. */
  constructor(at: Lab) {
    this.#at = at;
    this.#inbox = join(at.folder, "inbox");
    const bin = join(at.folder, "bin");
    for (const folder of [bin, this.#inbox]) mkdirSync(folder);
    const program = join(bin, "claude");
    writeFileSync(program, script(this.#inbox));
    chmodSync(program, 0o755);
    vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
    this.workspace = at.open();
  }

  async start(options: StartOptions = {}): Promise<Puppet> {
    const record = await this.workspace.runs.start({ driver: "claude", prompt: "Do as you are told", ...options });
    return new Puppet(this.#at, this.#inbox, record);
  }
}

export class Puppet {
  readonly record: RunRecord;
  readonly agent: string;
  readonly #at: Lab;
  readonly #inbox: string;
  #asked = 0;

  constructor(at: Lab, inbox: string, record: RunRecord) {
    this.#at = at;
    this.record = record;
    this.agent = record.agent;
    this.#inbox = join(inbox, record.agent);
    mkdirSync(this.#inbox, { recursive: true });
  }

  /** What lets it act as itself over HTTP. */
  get bearer(): string {
    const environment = readFileSync(`/proc/${this.#at.startFact(this.record).main?.pid}/environ`, "latin1");
    return `${this.agent}:${/MIDWATCH_CAPABILITY=([^\0]+)/.exec(environment)?.[1]}`;
  }

  /** A shell script, below its keeper. */
  async sh(text: string): Promise<Ended> {
    const at = (kind: string): string => join(this.#inbox, `${this.#asked}.${kind}`);
    this.#asked++;
    writeFileSync(at("new"), text);
    renameSync(at("new"), at("sh"));
    await until(() => read(at("code")) !== "", 30_000, "the puppet has done it");
    return { code: Number(read(at("code"))), signal: null, stdout: read(at("out")), stderr: read(at("err")) };
  }

  /** `midwatch ARGS`, below its keeper. */
  midwatch(...args: string[]): Promise<Ended> {
    return this.sh(words(process.execPath, CLI, ...args));
  }

  /** A tool of `midwatch mcp`, which the puppet starts as its CLI would. */
  async tool(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    return (await this.tools([[name, args]]))[0] as ToolAnswer;
  }

  /** Several, one after the other, of one server. */
  async tools(calls: readonly (readonly [name: string, args: Record<string, unknown>])[]): Promise<ToolAnswer[]> {
    const said = calls.flatMap(([name, args]) => [name, JSON.stringify(args)]);
    const { stdout, stderr } = await this.sh(words(process.execPath, supportFile("mcp/call-tool.ts"), ...said));
    const answers = stdout.split("\n").filter(Boolean);
    if (answers.length < calls.length) throw new Error(stderr);
    return answers.map((line) => JSON.parse(line));
  }
}

interface ToolAnswer {
  isError: boolean;
  data: Record<string, unknown>;
}

function words(...all: string[]): string {
  return all.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const script = (inbox: string): string => `#!/bin/sh
box='${inbox}'/"$MIDWATCH_AGENT"
n=1
while :; do
  if [ -e "$box/$n.sh" ]; then
    sh "$box/$n.sh" >"$box/$n.out" 2>"$box/$n.err" </dev/null
    echo $? >"$box/$n.done"
    mv "$box/$n.done" "$box/$n.code"
    n=$((n + 1))
  else
    sleep 0.05
  fi
done
`;
