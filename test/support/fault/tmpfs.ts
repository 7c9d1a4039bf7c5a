import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { folder } from "../folder.ts";

/** Mounting needs root, and more rights than root has in many containers. */
export const mayMount: boolean = tryMount();
if (!mayMount) console.warn("SKIPPED: no tmpfs can be mounted here: that needs root.");

function tryMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  const path = mkdtempSync(join(tmpdir(), "midwatch-test-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "midwatch-test", path]).status === 0;
  if (mounted) spawnSync("umount", ["-l", path]);
  rmdirSync(path);
  return mounted;
}

/** A small file system of its own, unmounted when the test ends. `options` as in `mount -o`. */
export function tmpfs(options: string, path = `${folder()}/disk`): string {
  mkdirSync(path, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "midwatch-test", path]);
  onTestFinished(() => void execFileSync("umount", ["-l", path]));
  return path;
}

export function remount(path: string, options: string): void {
  execFileSync("mount", ["-o", `remount,${options}`, path]);
}
