/**
 * Who a process is. A pid alone means nothing: it is reused, and a number on disk may come from another boot or another pid
 * namespace. A keeper is recognised by boot, namespace, pid, start time and the run's nonce in its command line; without a
 * full match no signal is sent.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import type { ProcessIdentity } from "../core/types.ts";

export interface Host {
  boot_id: string;
  pid_ns: string;
}

export interface ProcessFacts extends ProcessIdentity {
  name: string;
  state: string;
}

let thisHost: Host | undefined;

/** Boot ids are equal in all containers of a machine, hence the pid namespace beside it. */
export function host(): Host {
  thisHost ??= {
    boot_id: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    pid_ns: String(statSync("/proc/self/ns/pid").ino),
  };
  return thisHost;
}

/** Undefined when there is no such process, or only its zombie: a zombie is dead. */
export function readProcess(pid: number): ProcessFacts | undefined {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined;
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    throwIfExhausted(error);
    return undefined;
  }
  // The name may hold spaces and brackets; the fields begin behind the last bracket.
  const close = text.lastIndexOf(")");
  const fields = text.slice(close + 2).split(" ");
  const state = fields[0] ?? "X";
  if (state === "Z" || state === "X") return undefined;
  return { pid, start_ticks: Number(fields[19]), name: text.slice(text.indexOf("(") + 1, close), state };
}

/** A process with all that is needed to recognise it from another process. */
export type Somebody = ProcessIdentity & Host;

export function self(): Somebody {
  return { pid: process.pid, start_ticks: readProcess(process.pid)?.start_ticks ?? 0, ...host() };
}

/** Surely gone: of this boot and this pid namespace, and no such process lives. Of others nothing can be known from here. */
export function isGone({ pid, start_ticks, boot_id, pid_ns }: Somebody): boolean {
  const here = host();
  if (boot_id !== here.boot_id || pid_ns !== here.pid_ns) return false;
  return readProcess(pid)?.start_ticks !== start_ticks;
}

/** Is this the living keeper of the run with this nonce, on this host? */
export function isKeeper(identity: ProcessIdentity, nonce: string, where: Host): boolean {
  const here = host();
  if (where.boot_id !== here.boot_id || where.pid_ns !== here.pid_ns) return false;
  if (readProcess(identity.pid)?.start_ticks !== identity.start_ticks) return false;
  try {
    return readFileSync(`/proc/${identity.pid}/cmdline`, "latin1").split("\0")[3] === nonce;
  } catch (error) {
    throwIfExhausted(error);
    return false;
  }
}

/** Does any keeper of `agent.run` live? Looks at every process: for the rare case that a run's facts are gone. */
export function hasKeeper(name: string): boolean {
  return readdirSync("/proc").some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      const [, verb, run] = readFileSync(`/proc/${entry}/cmdline`, "latin1").split("\0");
      return run === name && (verb === "run" || verb === "adopt");
    } catch (error) {
      throwIfExhausted(error);
      return false;
    }
  });
}

/** The keepers above a process, innermost first: pid, start time and the run and nonce in their command line. */
export function keepersAbove(pid: number = process.pid): (ProcessIdentity & { name: string; nonce: string })[] {
  const found: (ProcessIdentity & { name: string; nonce: string })[] = [];
  for (let at = parentOf(pid); at > 1; at = parentOf(at)) {
    try {
      const [, verb, name, nonce] = readFileSync(`/proc/${at}/cmdline`, "latin1").split("\0");
      const start_ticks = readProcess(at)?.start_ticks;
      if ((verb === "run" || verb === "adopt") && name && nonce && start_ticks !== undefined)
        found.push({ pid: at, start_ticks, name, nonce });
    } catch {
      // It has ended meanwhile; its children have another parent now, which is above it.
    }
  }
  return found;
}

function parentOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}

export function childrenOf(parent: number): number[] {
  return pids().filter((pid) => parentOf(pid) === parent);
}

/** Processes whose working folder is `folder` or below it. */
export function processesIn(folder: string): ProcessFacts[] {
  return pids().flatMap((pid) => {
    let cwd: string;
    try {
      cwd = readlinkSync(`/proc/${pid}/cwd`);
    } catch (error) {
      throwIfExhausted(error);
      return []; // It has ended, or is another user's.
    }
    if (cwd !== folder && !cwd.startsWith(`${folder}/`)) return [];
    return readProcess(pid) ?? [];
  });
}

/** Whether any process was started with this text in its arguments or environment. Good for a question, never for a signal. */
export function isMentioned(text: string): boolean {
  return pids().some((pid) =>
    ["cmdline", "environ"].some((file) => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/${file}`, "latin1").includes(text);
      } catch (error) {
        throwIfExhausted(error);
        return false; // It has ended, or is another user's.
      }
    }),
  );
}

function pids(): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** Verifies, then signals at once. False when it is not, or no longer, that keeper. */
export function signalKeeper(identity: ProcessIdentity, nonce: string, where: Host, signal: NodeJS.Signals): boolean {
  if (identity.pid <= 1 || nonce === "" || !isKeeper(identity, nonce, where)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** The main process of a run that is surely this one. False when it is not, or no longer. */
export function signalMain({ main, ...where }: Host & { main: ProcessIdentity }, signal: NodeJS.Signals): boolean {
  const here = host();
  if (where.boot_id !== here.boot_id || where.pid_ns !== here.pid_ns) return false;
  if (main.pid <= 1 || readProcess(main.pid)?.start_ticks !== main.start_ticks) return false;
  try {
    process.kill(main.pid, signal);
    return true;
  } catch {
    return false;
  }
}
