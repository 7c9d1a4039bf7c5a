import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import { folder } from "./folder.ts";

/** Mounting needs root; elsewhere these tests are skipped, and say so by their name. */
export const mayMount: boolean = process.getuid?.() === 0;

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
