/**
 * Processes of the bench. All load programs and the keeper are files in the bench's own folder, so /proc/PID/exe tells
 * for certain which processes are ours, whatever they call themselves and whoever is their parent.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Monotonic ns, the clock that the load programs write down. */
export const nowNs = (): number => Number(process.hrtime.bigint());

/** Start time of a living process; undefined when there is none, or only its zombie. */
export function startOf(pid: number): number | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : Number(fields[19]);
}

export interface Listed {
  pid: number;
  start: number;
}

/** A list written by load/tree.c. */
export function readList(path: string): Listed[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [pid, start] = line.split(" ").map(Number);
      return { pid: pid as number, start: start as number };
    });
}

export const isAlive = ({ pid, start }: Listed): boolean => startOf(pid) === start;

/** CPU seconds of a process, all its threads. */
export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** By the scheduler's own clock: the ticks of /proc/PID/stat are too coarse for this. */
export function cpuNs(pids: readonly number[]): number {
  const of = (pid: number): number[] =>
    readdirSync(`/proc/${pid}/task`).map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]),
    );
  return pids.flatMap(of).reduce((sum, ns) => sum + ns, 0);
}

/** Bytes that a process has read by system calls. */
export function bytesRead(pid: number): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "latin1"))?.[1]);
}

/** Resident memory in KiB, counted page by page (VmRSS is only near the truth), and the part that is its own data. */
export function memoryKiB(pid: number): { resident: number; own: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return { resident: field("Rss"), own: field("Anonymous") };
}

/** Living processes whose program lies in `dir`. */
export function ours(dir: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(
      (pid) => pid > 1 && pid !== process.pid && programOf(pid).startsWith(`${dir}/`) && startOf(pid) !== undefined,
    );
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return "";
  }
}

/** Ends what is ours, by id, and says how many there were that did not end by themselves within a second. */
export async function sweep(dir: string): Promise<number> {
  for (let i = 0; i < 50 && ours(dir).length > 0; i++) await sleep(20);
  let found = 0;
  for (let i = 0; i < 200; i++) {
    const pids = ours(dir);
    if (pids.length === 0) break;
    if (i === 0) found = pids.length;
    for (const pid of pids) kill(pid, "SIGKILL");
    await sleep(10);
  }
  return found;
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1) throw new Error(`refused to signal ${pid}`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * What the runs in a workspace put outside it and did not take away: temporary folders and cgroups. Found by the nonce in
 * intent.json, which is there before anything else. They are removed too.
 */
export function traces(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const intents = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((path) =>
    /\/(intent|\d+)\.json$/.test(path),
  );
  const nonces = intents.map((path) => /"nonce":"([0-9a-f]{32})"/.exec(readFileSync(join(dir, path), "utf8"))?.[1]);
  const base = cgroupBase();
  return nonces.filter(Boolean).flatMap((nonce) => {
    const left = [`/tmp/mw-${nonce}`, `${base}/mw-${nonce}`].filter((path) => existsSync(path));
    for (const path of left) path.startsWith("/tmp/") ? rmSync(path, { recursive: true }) : rmdirSync(path);
    return left;
  });
}

/** The folder of our own cgroup, in which the keepers make theirs. */
function cgroupBase(): string {
  const mount =
    /^(?:\S+ ){4}(\S+) .* - cgroup2 /m.exec(readFileSync("/proc/self/mountinfo", "utf8"))?.[1] ?? "/nowhere";
  const own = /^0::(\S*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "";
  return mount + (own === "/" ? "" : own);
}

/** Waits until `found` gives something; throws after the time, so that no bench hangs. */
export async function until<T>(
  what: string,
  found: () => T | undefined | false,
  timeoutMs = 60_000,
  eachMs = 2,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = found();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await sleep(eachMs);
  }
}

/** Starts a program and resolves when it has printed a line that begins with `ready`. */
export async function startReady(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<Ready> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], ...options });
  const ready = { child, text: "", ended: ended(child) };
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    ready.text += part;
  });
  child.once("error", () => undefined);
  await until(`${command} ready`, () => /^ready$/m.test(ready.text) || child.exitCode !== null, 60_000);
  return ready;
}

export interface Ready {
  child: ChildProcess;
  /** What it has printed so far. */
  text: string;
  ended: Promise<number>;
}

/** The exit code when a child has ended and its pipes are closed; -1 for a signal. */
export function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
}

/** Kills a child that we started and waits until it is gone. */
export async function finish({ child, ended: end }: Ready): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  await end;
}
