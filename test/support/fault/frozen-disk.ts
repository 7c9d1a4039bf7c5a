import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import { folder } from "../folder.ts";
import { patient } from "../patience.ts";

export interface FrozenDisk {
  path: string;
  freeze(): void;
  thaw(): void;
}

/**
 * A small ext4 in a file. While it is frozen whoever writes to it sleeps so that not even SIGKILL ends it. It is thawed when the
 * test ends, and by a process of its own after a minute, should the test be killed. Undefined where it cannot be made.
 */
export function frozenDisk(): FrozenDisk | undefined {
  if (process.getuid?.() !== 0 || spawnSync("fsfreeze", ["--version"]).status !== 0) return undefined;
  const place = folder();
  const path = `${place}/disk`;
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { stdio: "pipe", timeout: patient(30_000) });
  mkdirSync(path);
  try {
    run("truncate", "-s", "8M", `${place}/image`);
    run("mkfs.ext4", "-q", "-F", `${place}/image`);
    run("mount", "-o", "loop", `${place}/image`, path);
  } catch {
    return undefined; // No loop device, or no right to mount.
  }
  const thaw = (): void => void spawnSync("fsfreeze", ["-u", path], { timeout: patient(30_000) });
  const guard = spawn("sh", ["-c", `sleep 60; fsfreeze -u "${path}"`], { detached: true, stdio: "ignore" });
  guard.unref();
  onTestFinished(() => {
    thaw();
    process.kill(-(guard.pid as number), "SIGKILL");
    run("umount", "-l", path);
  });
  return { path, freeze: () => run("fsfreeze", "-f", path), thaw };
}
