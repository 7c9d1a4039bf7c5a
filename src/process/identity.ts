/**
 * Who a process is. A pid alone means nothing: it is reused, and a number on disk may come from another boot or another pid
 * namespace. A keeper is recognised by pid, start time and the run's nonce in its command line; without a full match no signal is sent.
 */
import type { ProcessIdentity } from "../core/types.ts";
import { type Host, type ProcessLook, processTable } from "./table.ts";

export type { Host } from "./table.ts";

export interface ProcessFacts extends ProcessIdentity {
  name: string;
  state: string;
}

let thisHost: Host | undefined;

export function host(): Host {
  thisHost ??= processTable.host();
  return thisHost;
}

/** Undefined when there is no such process, or only its zombie: a zombie is dead once its last thread is. */
export function readProcess(pid: number): ProcessFacts | undefined {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined;
  return living(processTable.look(pid), pid);
}

function living(look: ProcessLook, pid: number): ProcessFacts | undefined {
  const found = look.stat(pid);
  if (found === undefined || found.state === "Z" || found.state === "X") return undefined;
  const { start_ticks, name, state } = found;
  return { pid, start_ticks, name, state };
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

/**
 * Is this the living keeper of the run with this nonce? Which boot and namespace its facts name does not matter: no other process has the
 * nonce in that place. One whose first thread has ended is none: it takes no orders and has no arguments any more, though its other
 * threads may hold the run's files for a while (`keepersGone`).
 */
export function isKeeper(identity: ProcessIdentity, nonce: string): boolean {
  if (nonce === "" || !Number.isSafeInteger(identity.pid) || identity.pid <= 1) return false;
  const look = processTable.look(identity.pid);
  return living(look, identity.pid)?.start_ticks === identity.start_ticks && look.args(identity.pid)[3] === nonce;
}

/** Does any keeper of `agent.run` live? Looks at every process: for the rare case that a run's facts are gone. */
export function hasKeeper(name: string): boolean {
  return keepersOf(processTable.look(), name).length > 0;
}

/** A variable of every process that is called as the keeper of `agent.run` is; the oldest first, which surely is its keeper. */
export function keeperVariables(name: string, variable: string): (string | undefined)[] {
  const look = processTable.look();
  const age = (pid: number): number => look.stat(pid)?.start_ticks ?? Number.POSITIVE_INFINITY;
  return keepersOf(look, name)
    .sort((a, b) => age(a) - age(b))
    .map((pid) => look.variable(pid, variable));
}

/** A variable of each process that is called as a keeper is, by its `agent.run`; the oldest first. */
export function everyKeepers(variable: string): { name: string; value: string | undefined }[] {
  const look = processTable.look();
  const age = (pid: number): number => look.stat(pid)?.start_ticks ?? Number.POSITIVE_INFINITY;
  const found = look.pids().flatMap((pid) => {
    const [, verb, name] = look.args(pid);
    return name && (verb === "run" || verb === "adopt") ? [{ pid, name, age: age(pid) }] : [];
  });
  return found.sort((a, b) => a.age - b.age).map(({ pid, name }) => ({ name, value: look.variable(pid, variable) }));
}

function keepersOf(look: ProcessLook, name: string): number[] {
  return look.pids().filter((pid) => {
    const [, verb, run] = look.args(pid);
    return run === name && (verb === "run" || verb === "adopt");
  });
}

interface KeeperAbove extends ProcessIdentity {
  name: string;
  nonce: string;
  /** The value of a variable that it was started with. */
  variable(name: string): string | undefined;
}

/** The keepers above this process, innermost first: pid, start time and the run and nonce in their command line. */
export function keepersAbove(): KeeperAbove[] {
  const found: KeeperAbove[] = [];
  const look = processTable.look();
  for (let at = parentOf(look, process.pid); at > 1; at = parentOf(look, at)) {
    try {
      const [, verb, name, nonce] = look.args(at);
      const start_ticks = living(look, at)?.start_ticks;
      if ((verb === "run" || verb === "adopt") && name && nonce && start_ticks !== undefined)
        found.push({ pid: at, start_ticks, name, nonce, variable: (wanted) => look.variable(at, wanted) });
    } catch {
      // It has ended meanwhile; its children have another parent now, which is above it.
    }
  }
  return found;
}

function parentOf(look: ProcessLook, pid: number): number {
  try {
    return look.stat(pid)?.parent ?? 0;
  } catch {
    return 0;
  }
}

/** Whether some process has this pid, be it a zombie. Costs a tenth of `readProcess`. */
export function isInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function childrenOf(parent: number): number[] {
  const look = processTable.look();
  return look.pids().filter((pid) => parentOf(look, pid) === parent);
}

/** Processes whose working folder is `folder` or below it. */
export function processesIn(folder: string): ProcessFacts[] {
  const look = processTable.look();
  return look.pids().flatMap((pid) => {
    const cwd = look.cwd(pid);
    if (cwd === undefined || (cwd !== folder && !cwd.startsWith(`${folder}/`))) return [];
    return living(look, pid) ?? [];
  });
}

/** Whether any process was started with this text in its arguments or environment. Good for a question, never for a signal. */
export function isMentioned(text: string): boolean {
  return processTable.mentions(text);
}

/** Verifies, then signals at once. False when it is not, or no longer, that keeper. */
export function signalKeeper(identity: ProcessIdentity, nonce: string, signal: NodeJS.Signals): boolean {
  if (!isKeeper(identity, nonce)) return false;
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
