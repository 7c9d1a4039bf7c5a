import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./workspace.ts";

export interface MemoryGroup {
  /** The file that takes a pid: its process, and what it starts from then on, has the limit. */
  procs: string;
  end(): Promise<void>;
}

/** A cgroup below ours with so many bytes of memory, v2 or v1; or why there can be none. */
export function memoryGroup(bytes: number): MemoryGroup | string {
  for (const { version, path } of places()) {
    const group = join(path, `midwatch-test-${process.pid}-${Math.random().toString(36).slice(2)}`);
    const limit = join(group, version === 2 ? "memory.max" : "memory.limit_in_bytes");
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    if (existsSync(limit)) {
      writeFileSync(limit, String(bytes));
      if (version === 2 && existsSync(join(group, "memory.swap.max")))
        writeFileSync(join(group, "memory.swap.max"), "0");
      return {
        procs: join(group, "cgroup.procs"),
        end: async () => {
          await until(() => readFileSync(join(group, "cgroup.procs"), "utf8") === "", 10_000, "the group is empty");
          rmdirSync(group);
        },
      };
    }
    rmdirSync(group);
  }
  return "no cgroup with a memory limit can be made here";
}

function places(): { version: 1 | 2; path: string }[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const own = readFileSync("/proc/self/cgroup", "utf8");
  const unified = mounts.find((line) => line.split(" ")[2] === "cgroup2")?.split(" ")[1];
  const memory = mounts.find((line) => / cgroup \S*\bmemory\b/.test(line))?.split(" ")[1];
  const below = (pattern: RegExp): string => pattern.exec(own)?.[1] ?? "/";
  return [
    ...(unified ? [{ version: 2 as const, path: join(unified, below(/^0::(.*)$/m)) }] : []),
    ...(memory ? [{ version: 1 as const, path: join(memory, below(/^\d+:memory:(.*)$/m)) }] : []),
  ];
}
