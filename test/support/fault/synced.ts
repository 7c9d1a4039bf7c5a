/** Which files and folders this process forces to the disk, by path, from now until the test ends. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

export function syncedPaths(): string[] {
  const paths: string[] = [];
  const { fsyncSync, fdatasync } = fs;
  const seen = (fd: number): void => void paths.push(fs.readlinkSync(`/proc/self/fd/${fd}`));
  fs.fsyncSync = (fd) => {
    seen(fd);
    fsyncSync(fd);
  };
  fs.fdatasync = Object.assign((fd: number, done: fs.NoParamCallback) => {
    seen(fd);
    fdatasync(fd, done);
  }, fdatasync);
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { fsyncSync, fdatasync });
    syncBuiltinESMExports();
  });
  return paths;
}
