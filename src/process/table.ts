/**
 * The table of processes. Linux has /proc. Elsewhere (macOS) the keeper is asked: it knows the kernel's calls, and its start times are
 * those that it writes into its facts. There a question costs a process, so one look serves many.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";
import type { ProcessIdentity } from "../core/types.ts";
import { keeperBinary } from "./keeper-binary.ts";

export interface Host {
  boot_id: string;
  pid_ns: string;
}

/** Zombies too. */
interface Stat extends ProcessIdentity {
  parent: number;
  name: string;
  state: string;
}

export interface ProcessLook {
  pids(): number[];
  /** Undefined when there is no such process. */
  stat(pid: number): Stat | undefined;
  /** Empty when it has ended or is another user's. */
  args(pid: number): string[];
  cwd(pid: number): string | undefined;
  /** A variable that it was started with; undefined too where the system does not tell, or it is another user's. */
  variable(pid: number, name: string): string | undefined;
}

export interface ProcessTable {
  host(): Host;
  /** At one process, or at all. */
  look(pid?: number): ProcessLook;
  /** Whether any other process has this text in its arguments or environment. */
  mentions(text: string): boolean;
}

/** What throws is a want of descriptors; all else means that it has ended, or is another user's. */
function unless<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    throwIfExhausted(error);
    return otherwise;
  }
}

const proc: ProcessLook = {
  pids: () =>
    readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number),
  stat: (pid) => unless(() => parseStat(pid, readFileSync(`/proc/${pid}/stat`, "latin1")), undefined),
  args: (pid) => unless(() => readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0"), []),
  cwd: (pid) => unless(() => readlinkSync(`/proc/${pid}/cwd`), undefined),
  variable: (pid, name) =>
    unless(() => readFileSync(`/proc/${pid}/environ`, "utf8"), "")
      .split("\0")
      .find((one) => one.startsWith(`${name}=`))
      ?.slice(name.length + 1),
};

/** The name may hold spaces and brackets; the fields begin behind the last bracket. */
function parseStat(pid: number, text: string): Stat {
  const close = text.lastIndexOf(")");
  const fields = text.slice(close + 2).split(" ");
  const name = text.slice(text.indexOf("(") + 1, close);
  const [state = "X"] = fields;
  // A zombie with threads lives: only its first thread has ended, the others still hold its files and locks.
  const lives = ["Z", "X"].includes(state) && Number(fields[17]) > 1;
  return { pid, parent: Number(fields[1]), start_ticks: Number(fields[19]), name, state: lives ? "S" : state };
}

export const procTable: ProcessTable = {
  /** Boot ids are equal in all containers of a machine, hence the pid namespace beside it. */
  host: () => ({
    boot_id: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    pid_ns: String(statSync("/proc/self/ns/pid").ino),
  }),
  look: () => proc,
  mentions: (text) =>
    proc
      .pids()
      .some(
        (pid) =>
          pid !== process.pid &&
          ["cmdline", "environ"].some((file) =>
            unless(() => readFileSync(`/proc/${pid}/${file}`, "latin1").includes(text), false),
          ),
      ),
};

const ASK_MS = 10_000;

function askKeeper(...words: string[]): string {
  const asked = spawnSync(keeperBinary().path, words, { encoding: "utf8", timeout: ASK_MS, maxBuffer: 64 << 20 });
  throwIfExhausted(asked.error);
  if (asked.status === 0) return asked.stdout;
  // Not to know is not to find nobody.
  throw new MidwatchError("KEEPER_FAILED", "The keeper could not tell which processes there are.", {
    hint: "`midwatch doctor` checks the keeper.",
    cause: asked.error,
  });
}

type Row = Stat & { args: string[]; cwd: string | null };

function who(pid?: number): { host: Host; rows: Map<number, Row> } {
  const lines = askKeeper("who", ...(pid === undefined ? [] : [String(pid)])).split("\n");
  const [host, ...rows] = lines.filter(Boolean).map((line) => JSON.parse(line) as Host | Row);
  return { host: host as Host, rows: new Map((rows as Row[]).map((row) => [row.pid, row])) };
}

export const keeperTable: ProcessTable = {
  host: () => who(process.pid).host,
  look: (pid) => {
    const { rows } = who(pid);
    return {
      pids: () => [...rows.keys()],
      stat: (one) => rows.get(one),
      args: (one) => rows.get(one)?.args ?? [],
      cwd: (one) => rows.get(one)?.cwd ?? undefined,
      variable: () => undefined,
    };
  },
  mentions: (text) => askKeeper("mentioned", text).trim() === "yes",
};

export const processTable: ProcessTable = process.platform === "linux" ? procTable : keeperTable;
