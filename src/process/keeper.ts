/** Starting a keeper and talking to it. What it does afterwards is in its facts; nobody here waits for it. */
import { spawn, spawnSync } from "node:child_process";
import { MidwatchError, throwIfExhausted, toMidwatchError } from "../core/errors.ts";
import type { Guarantee, Member, ProcessIdentity, StartFact } from "../core/types.ts";
import { withoutOuterRun } from "./environment.ts";
import { keeperBinary } from "./keeper-binary.ts";

export type Order = readonly [key: string, value: string | number];

/** `CLAIMED`: another process has the run; `STOPPED`: a stop came before the start. */
export type KeeperAnswer = { start: StartFact } | { adopted: true } | { error: { code: string; message: string } };

const ANSWER_MS = 10_000;

/** The variable in which a keeper carries the rights of its agent, as JSON. */
export const RIGHTS = "MIDWATCH_RIGHTS";

/**
 * Starts `keeper run` or `keeper adopt` in its own session. The orders go through a pipe: a launcher that dies half-way
 * leaves orders without their `end`, and nothing is started.
 */
export function startKeeper(
  verb: "run" | "adopt",
  name: string,
  nonce: string,
  orders: readonly Order[],
  env: NodeJS.ProcessEnv,
  rights: object,
): Promise<KeeperAnswer> {
  const keeper = spawn(keeperBinary(env).path, [verb, name, nonce], {
    cwd: "/",
    detached: true,
    env: { ...withoutOuterRun(env), [RIGHTS]: JSON.stringify(rights) },
    stdio: ["pipe", "pipe", "ignore"],
  });
  return new Promise((resolve, reject) => {
    // Out of descriptors there are no pipes either, and the error comes next.
    const { stdin, stdout } = keeper as Partial<typeof keeper>;
    let text = "";
    const timer = setTimeout(() => settle(), ANSWER_MS);
    const settle = (cause?: Error): void => {
      clearTimeout(timer);
      stdin?.destroy();
      stdout?.destroy();
      keeper.unref();
      const answer = parseAnswer(text);
      if (answer !== undefined) resolve(answer);
      else reject(noAnswer(text, cause));
    };
    keeper.once("error", settle);
    stdin?.on("error", () => undefined); // The keeper refused the run and is gone; its answer says why.
    stdout?.setEncoding("utf8");
    stdout?.on("data", (part: string) => {
      text += part;
      if (text.includes("\n")) settle();
    });
    stdout?.once("end", () => settle());
    stdin?.end(encode(orders));
  });
}

function encode(orders: readonly Order[]): Buffer {
  for (const [key, value] of orders) {
    if (String(value).includes("\0")) {
      throw new MidwatchError("USAGE", `${key} has a NUL byte in it.`, { hint: "No argument or path can hold one." });
    }
  }
  return Buffer.from(`${orders.map(([key, value]) => `${key}=${value}\0`).join("")}end\0`);
}

function parseAnswer(text: string): KeeperAnswer | undefined {
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    if (value["error"]) return { error: value["error"] as { code: string; message: string } };
    return value["adopted"] === true ? { adopted: true } : { start: value as unknown as StartFact };
  } catch {
    return undefined;
  }
}

function noAnswer(text: string, cause?: Error): MidwatchError {
  const known = toMidwatchError(cause);
  if (known.code === "NO_RESOURCES") return known;
  return new MidwatchError(
    "KEEPER_FAILED",
    `The keeper gave no answer${text ? ` (${JSON.stringify(text.slice(0, 80))})` : ""}.`,
    {
      hint: "`midwatch doctor` checks the keeper.",
      cause,
    },
  );
}

/** With `why` it only may be one of them, and nobody signals it. */
export type Scanned = Member & ProcessIdentity & { uid: number; why?: string };

export interface Asked {
  nonce: string;
  dir: string;
  /** Files of it that should be open for writing nowhere; one look tells that, too. */
  files?: readonly string[] | undefined;
}

export interface Look {
  /** Null when the look itself failed: that is not nobody. */
  members: Scanned[] | null;
  /** Of `files`, those that nobody has open for writing. */
  free: string[];
}

/** The runs of one look: they are its arguments. */
const SCANNED_AT_ONCE = 2000;

/** The living processes of runs that have no keeper any more, in the order asked: one look at /proc serves all. */
export function scanMembers(root: string, runs: readonly Asked[], timeoutMs: number): Look[] {
  const found: Look[] = [];
  while (found.length < runs.length)
    found.push(...scanSome(root, runs.slice(found.length, found.length + SCANNED_AT_ONCE), timeoutMs));
  return found;
}

function scanSome(root: string, runs: readonly Asked[], timeoutMs: number): Look[] {
  const files = runs.flatMap((one) => one.files ?? []);
  const words = [...runs.map(({ nonce, dir }) => `${nonce}=${dir}`), ...(files.length > 0 ? ["--", ...files] : [])];
  const scan = spawnSync(keeperBinary().path, ["scan", ...words], {
    encoding: "utf8",
    env: { MIDWATCH_SCAN_ROOT: root },
    timeout: timeoutMs,
    maxBuffer: 64 << 20,
  });
  throwIfExhausted(scan.error);
  const lines = scan.status === 0 ? scan.stdout.split("\n") : [];
  const free = new Set(files.filter((_, i) => lines[runs.length + i] === "free"));
  return runs.map((run, i) => {
    const { members, doubts = [] } = JSON.parse(lines[i] || '{"members":null}') as {
      members: Scanned[] | null;
      doubts?: Scanned[];
    };
    return { members: members && [...members, ...doubts], free: (run.files ?? []).filter((file) => free.has(file)) };
  });
}

export type Lease = "free" | "held" | "unknown";

/** Does any process have these files open for writing? One call of the kernel a file, no search through /proc. */
export function leases(paths: readonly string[]): Lease[] {
  if (paths.length === 0) return [];
  const asked = spawnSync(keeperBinary().path, ["lease", ...paths], { encoding: "utf8", timeout: ANSWER_MS });
  throwIfExhausted(asked.error);
  const lines = asked.status === 0 ? asked.stdout.split("\n") : [];
  return paths.map((_, i) => (lines[i] === "free" || lines[i] === "held" ? lines[i] : "unknown"));
}

/** Which way of containing a run works for this process now. */
export function probeTier(): Guarantee {
  const probe = spawnSync(keeperBinary().path, ["probe"], { encoding: "utf8", timeout: ANSWER_MS });
  const told = probe.status === 0 ? probe.stdout.trim() : "";
  return told === "cgroup" || told === "scan" ? told : "subreaper";
}
