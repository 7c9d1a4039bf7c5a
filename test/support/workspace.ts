/**
 * A workspace of its own for one test or one campaign, and the processes a test starts beside it. `end` stops every agent
 * with grace 0 and then looks for itself: no process with a nonce of this workspace may live, in its environment or as its
 * keeper. No vitest in here: the soak uses it too.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConfigInput } from "../../src/core/config/config.ts";
import type { IntentFact } from "../../src/core/intent.ts";
import type { StartFact } from "../../src/core/types.ts";
import { type OpenOptions, openWorkspace, type RunRecord, type Workspace } from "../../src/fleet/workspace.ts";
import { readProcess } from "../../src/process/identity.ts";
import { patient } from "./patience.ts";

export const supportFile = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** What people run, built before the first test: it starts in a sixth of the time that the sources take. */
export const CLI: string = supportFile("../../dist/midwatch.js");

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export class Lab {
  readonly folder: string;
  readonly root: string;
  readonly workspace: Workspace;
  readonly #config: ConfigInput;
  readonly #ownFolder: boolean;
  readonly #opened: Workspace[] = [];
  readonly #children = new Set<ChildProcess>();
  readonly #nonces = new Set<string>();

  constructor(config: ConfigInput = {}, folder?: string) {
    this.#ownFolder = folder === undefined;
    this.folder = folder ?? realpathSync(mkdtempSync(join(tmpdir(), "midwatch-lab-")));
    this.root = join(this.folder, ".agent-workspace");
    this.#config = { grace: "500ms", ...config };
    this.workspace = this.open({ make: true });
  }

  /** One more Workspace over the same folder, as another process would have. */
  open(more: OpenOptions = {}): Workspace {
    const opened = openWorkspace({ workspace: this.root, cwd: this.folder, config: this.#config, ...more });
    this.#opened.push(opened);
    return opened;
  }

  async run(...argv: string[]): Promise<RunRecord> {
    return this.workspace.runs.start({ argv });
  }

  /** `sh -c script`. */
  async sh(script: string): Promise<RunRecord> {
    return this.run("sh", "-c", script);
  }

  runDir({ task, agent, run }: Pick<RunRecord, "task" | "agent" | "run">): string {
    return join(this.root, task, "runs", agent, String(run));
  }

  fact<T>(record: Pick<RunRecord, "task" | "agent" | "run">, name: string): T | undefined {
    const [sealed, loose] = [this.sealed(record), join(this.runDir(record), name)].map(parsed);
    return ((sealed as Sealed | undefined)?.facts[name] ?? loose) as T | undefined;
  }

  /** Where all facts of a run are once it was cleaned up. */
  sealed(record: Pick<RunRecord, "task" | "agent" | "run">): string {
    return `${this.runDir(record)}.json`;
  }

  /** Makes a fact say something else, wherever it lies; null takes it away. */
  setFact(record: Pick<RunRecord, "task" | "agent" | "run">, name: string, value: unknown): void {
    const sealed = parsed(this.sealed(record)) as Sealed | undefined;
    const loose = join(this.runDir(record), name);
    if (sealed === undefined) value === null ? rmSync(loose) : writeFileSync(loose, `${JSON.stringify(value)}\n`);
    else {
      const { [name]: _, ...others } = sealed.facts;
      const facts = value === null ? others : { ...others, [name]: value };
      writeFileSync(this.sealed(record), `${JSON.stringify({ ...sealed, facts })}\n`);
    }
  }

  /** As a release that did not seal left it: each fact a file of its own. */
  unseal(record: Pick<RunRecord, "task" | "agent" | "run">): void {
    const { facts } = parsed(this.sealed(record)) as Sealed;
    mkdirSync(this.runDir(record));
    for (const [name, fact] of Object.entries(facts))
      writeFileSync(join(this.runDir(record), name), `${JSON.stringify(fact)}\n`);
    rmSync(this.sealed(record));
  }

  intent(record: Pick<RunRecord, "task" | "agent" | "run">): IntentFact {
    return this.fact<IntentFact>(record, "intent.json") as IntentFact;
  }

  startFact(record: Pick<RunRecord, "task" | "agent" | "run">): StartFact {
    return this.fact<StartFact>(record, "start.json") as StartFact;
  }

  async raw(agent: string, options: { run?: number; stderr?: boolean } = {}): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.workspace.logs.bytes(agent, options)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** `midwatch ARGS` in a process of its own. */
  cli(...args: string[]): Promise<Ended> {
    return ended(this.node(CLI, "--workspace", this.root, ...args));
  }

  /** `node FILE ARGS` with pipes; killed at the end of the test if it still lives. */
  node(file: string, ...args: string[]): ChildProcess {
    const child = spawn(process.execPath, [file, ...args], {
      cwd: this.folder,
      env: { ...process.env, MIDWATCH_GRACE: "500ms" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    return this.watch(child);
  }

  /** Killed at the end of the test if it still lives. */
  watch(child: ChildProcess): ChildProcess {
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Living processes of this workspace's runs: found by us, not by midwatch. A keeper outlives its last fact by moments. */
  survivors(keepers = false): Survivor[] {
    this.#remember();
    return processesWith([...this.#nonces]).filter(({ keeper }) => keepers || !keeper);
  }

  async end(): Promise<void> {
    this.#remember();
    for (const child of this.#children) child.kill("SIGKILL");
    const problems: string[] = [];
    try {
      using workspace = openWorkspace({ workspace: this.root, cwd: this.folder });
      const live = (await workspace.runs.list({ all: true })).filter(({ phase }) => !OVER.includes(phase));
      const reports = await workspace.runs.stop(
        live.map(({ agent }) => agent),
        { graceMs: 0, reason: "end of a test" },
      );
      for (const report of reports) if (!report.verified) problems.push(`not stopped: ${JSON.stringify(report)}`);
    } catch (error) {
      problems.push(`stop at the end: ${error}`);
    }
    await until(() => this.survivors(true).length === 0, 3000).catch(() => {
      for (const { pid, name, start_ticks } of this.survivors(true)) {
        problems.push(`left alive: ${pid} ${name}`);
        if (readProcess(pid)?.start_ticks === start_ticks) process.kill(pid, "SIGKILL");
      }
    });
    for (const opened of this.#opened) opened.close();
    if (this.#ownFolder) rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
    if (problems.length > 0) throw new Error(problems.join("\n"));
  }

  #remember(): void {
    for (const path of globSync("TASK-*/runs/*/{*/{intent.json,claim},*.json}", { cwd: this.root })) {
      const nonce = /"nonce":"([0-9a-f]{32})"/.exec(text(join(this.root, path)))?.[1];
      if (nonce) this.#nonces.add(nonce);
    }
  }
}

interface Sealed {
  facts: Record<string, unknown>;
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

const OVER: readonly string[] = ["drained", "archived", "launch_failed"];

export interface Survivor {
  pid: number;
  start_ticks: number;
  name: string;
  keeper: boolean;
}

/** Every process that has one of these nonces in its environment, or is a keeper called with one. */
export function processesWith(nonces: readonly string[]): Survivor[] {
  if (nonces.length === 0) return [];
  return readdirSync("/proc").flatMap((entry) => {
    const pid = Number(entry);
    const found = Number.isInteger(pid) ? readProcess(pid) : undefined;
    if (found === undefined) return [];
    const command = text(`/proc/${pid}/cmdline`);
    const environment = text(`/proc/${pid}/environ`);
    const keeper = nonces.some((nonce) => command.includes(`\0${nonce}\0`));
    if (!keeper && !nonces.some((nonce) => environment.includes(nonce))) return [];
    return [{ pid, start_ticks: found.start_ticks, name: found.name, keeper }];
  });
}

/** The same process as before, alive and no zombie. */
export function lives({ pid, start_ticks }: { pid: number; start_ticks: number }): boolean {
  return readProcess(pid)?.start_ticks === start_ticks;
}

export async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (part) => (stdout += part));
  child.stderr?.on("data", (part) => (stderr += part));
  const [code, signal] = await once(child, "close");
  return { code, signal, stdout, stderr };
}

export function text(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Polls until it holds; throws after `ms` of a quiet machine. */
export async function until(holds: () => unknown, ms = 15_000, what = String(holds)): Promise<void> {
  const deadline = performance.now() + patient(ms);
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come to hold within ${patient(ms)} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
