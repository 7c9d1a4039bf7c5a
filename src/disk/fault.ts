/** Turns an errno into the error of ours that says what to do. What has no such meaning is returned as it is. */
import { closeSync, openSync } from "node:fs";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";

export function errno(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What link(2) answers on file systems that have no hard links. */
const NO_LINKS = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"];

export function noHardLinks(path: string, why: string, cause?: unknown): MidwatchError {
  return new MidwatchError("NO_HARD_LINKS", `The file system of ${path} has no working hard links (${why}).`, {
    hint: "Claims and leases are made by them: put the workspace on a local disk (ext4, xfs, btrfs, tmpfs) with --workspace DIR.",
    cause,
    data: { path },
  });
}

export function diskFault(error: unknown, path: string): unknown {
  const code = errno(error) ?? "";
  if (error instanceof Error && "syscall" in error && error.syscall === "link" && NO_LINKS.includes(code))
    return noHardLinks(path, code, error);
  switch (errno(error)) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new MidwatchError("DISK_FULL", `There is no room to write ${path}.`, {
        hint: "Free some space; `midwatch prune --dry-run` shows what midwatch itself could remove.",
        cause: error,
        data: { path, errno: errno(error) },
      });
    case "EROFS":
      return new MidwatchError("NOT_WRITABLE", `${path} is on a read-only file system.`, {
        hint: "Use --workspace or --fallback-dir with a folder on a disk that can be written.",
        cause: error,
        data: { path, errno: "EROFS" },
      });
    case "EACCES":
    case "EPERM":
      return new MidwatchError("NOT_WRITABLE", `${path} cannot be written: permission denied.`, {
        hint: "Check the owner and mode of the folder, or use --workspace or --fallback-dir with another one.",
        cause: error,
        data: { path, errno: errno(error) },
      });
    case "ELOOP":
      return new MidwatchError("UNSAFE_PATH", `${path} is a symbolic link; midwatch writes through none.`, {
        hint: "Replace the link by a real file or folder.",
        cause: error,
        data: { path },
      });
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return new MidwatchError(
        "BAD_PATH",
        code === "ENOTDIR" ? `${path} lies below a file, not a folder.` : `${path} is too long for this file system.`,
        { hint: "Name another folder.", cause: error, data: { path, errno: code } },
      );
    default:
      return error;
  }
}

/** What is done to a path would end up elsewhere. */
export function unsafe(path: string, why: string): MidwatchError {
  return new MidwatchError("UNSAFE_PATH", `${path} ${why}.`, {
    hint: "midwatch touches only real files and folders inside its workspace.",
    data: { path },
  });
}

/** False when it fails with one of these codes; any other fault is thrown in our words. */
export function attempt(codes: readonly string[], path: string, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (codes.includes(errno(error) ?? "")) return false;
    throw diskFault(error, path);
  }
}

/** SQLite says only that it could not open a file. Two: the database and its -wal. */
export function assertDescriptors(): void {
  const open: number[] = [];
  try {
    for (let i = 0; i < 2; i++) open.push(openSync("/dev/null", "r"));
  } catch (error) {
    throwIfExhausted(error);
  } finally {
    for (const fd of open) closeSync(fd);
  }
}
