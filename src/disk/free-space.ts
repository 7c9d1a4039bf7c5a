/** Room on the disk of a workspace, in bytes and in inodes: a disk can be full of either. */
import { statfsSync } from "node:fs";
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { formatSize } from "../core/size.ts";
import { diskFault } from "./fault.ts";

export interface FreeSpace {
  bytes: number;
  /** Infinity where the file system has no fixed number (btrfs and its like report 0 of 0). */
  inodes: number;
}

export type Preflight = { state: "ok"; free: FreeSpace } | { state: "warning"; free: FreeSpace; message: string };

/** A run needs about 15 files; 64 leave room for a few. */
const INODES_MIN = 64;

export function freeSpace(path: string): FreeSpace {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(path);
    return { bytes: bavail * bsize, inodes: files === 0 ? Number.POSITIVE_INFINITY : ffree };
  } catch (error) {
    throw diskFault(error, path);
  }
}

/** Asked before a start: throws DISK_LOW when there is too little room. */
export function preflight(
  path: string,
  config: Pick<Config, "disk_warn" | "disk_refuse">,
  look: (path: string) => FreeSpace = freeSpace,
): Preflight {
  const free = look(path);
  if (free.bytes < config.disk_refuse) {
    throw new MidwatchError(
      "DISK_LOW",
      `Only ${formatSize(free.bytes)} are free at ${path}; a start needs ${formatSize(config.disk_refuse)}.`,
      {
        hint: "Free some space (`midwatch prune --dry-run` shows what midwatch could remove) or set --disk-refuse lower.",
        data: { path, free_bytes: free.bytes, needed_bytes: config.disk_refuse },
      },
    );
  }
  if (free.inodes < INODES_MIN) {
    throw new MidwatchError(
      "DISK_LOW",
      `Only ${free.inodes} inodes are free at ${path}; a start needs ${INODES_MIN}.`,
      {
        hint: "The disk holds too many files: remove small ones; `midwatch prune --dry-run` shows midwatch's own.",
        data: { path, free_inodes: free.inodes, needed_inodes: INODES_MIN },
      },
    );
  }
  if (free.bytes < config.disk_warn) {
    const message = `Only ${formatSize(free.bytes)} are free at ${path} (warning below ${formatSize(config.disk_warn)}).`;
    return { state: "warning", free, message };
  }
  return { state: "ok", free };
}
