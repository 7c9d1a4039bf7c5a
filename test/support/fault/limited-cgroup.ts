import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../workspace.ts";

export interface LimitedGroup {
  /** The file that takes a pid: its process, and what it starts from then on, has the limit. */
  procs: string;
  /** A number of bytes, or of processes and threads. */
  limit(most: number): void;
  end(): Promise<void>;
}

type Controller = "memory" | "pids";

/** A cgroup below ours with a limit, v2 or v1; undefined where none can be made. */
export function limitedGroup(controller: Controller, most: number): LimitedGroup | undefined {
  for (const { version, path } of places(controller)) {
    const group = join(path, `midwatch-test-${process.pid}-${Math.random().toString(36).slice(2)}`);
    const file = join(group, version === 1 && controller === "memory" ? "memory.limit_in_bytes" : `${controller}.max`);
    try {
      mkdirSync(group);
    } catch {
      continue; // Not ours to write.
    }
    if (existsSync(file)) return made(group, file, most);
    rmdirSync(group);
  }
  console.warn(`SKIPPED: no cgroup with a limit on ${controller} can be made here.`);
  return undefined;
}

function made(group: string, file: string, most: number): LimitedGroup {
  const procs = join(group, "cgroup.procs");
  const limit = (value: number): void => writeFileSync(file, String(value));
  limit(most);
  const swap = join(group, "memory.swap.max");
  if (existsSync(swap)) writeFileSync(swap, "0");
  const end = async (): Promise<void> => {
    await until(() => readFileSync(procs, "utf8") === "", 10_000, "the group is empty");
    rmdirSync(group);
  };
  return { procs, limit, end };
}

function places(controller: Controller): { version: 1 | 2; path: string }[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const own = readFileSync("/proc/self/cgroup", "utf8");
  const unified = mounts.find((line) => line.split(" ")[2] === "cgroup2")?.split(" ")[1];
  const old = mounts.find((line) => new RegExp(` cgroup \\S*\\b${controller}\\b`).test(line))?.split(" ")[1];
  const below = (pattern: RegExp): string => pattern.exec(own)?.[1] ?? "/";
  return [
    ...(unified ? [{ version: 2 as const, path: join(unified, below(/^0::(.*)$/m)) }] : []),
    ...(old ? [{ version: 1 as const, path: join(old, below(new RegExp(`^\\d+:${controller}:(.*)$`, "m"))) }] : []),
  ];
}
