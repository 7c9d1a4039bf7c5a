/** Whether link(2) works in a folder as it has to: a second name for the same file, and EEXIST where a name is taken. */
import { randomBytes } from "node:crypto";
import { linkSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { diskFault, errno } from "./fault.ts";

/** File systems without hard links answer one of these. */
const UNSUPPORTED = ["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "EINVAL"];

/** Tries it for real; throws NO_HARD_LINKS. Some file systems take the call and copy, others replace: both are found here. */
export function assertHardLinks(folder: string, link: (from: string, to: string) => void = linkSync): void {
  const name = join(folder, `.link-test.${randomBytes(6).toString("hex")}`);
  const second = `${name}.2`;
  try {
    writeFileSync(name, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    throw diskFault(error, folder);
  }
  try {
    link(name, second);
    if (statSync(name).ino !== statSync(second).ino) throw unusable(folder, "a link is a copy there");
    if (!refuses(() => link(name, second))) throw unusable(folder, "a link replaces another file there");
  } catch (error) {
    if (UNSUPPORTED.includes(errno(error) ?? "")) throw unusable(folder, String(errno(error)), error);
    throw diskFault(error, folder);
  } finally {
    for (const made of [name, second]) remove(made);
  }
}

function refuses(act: () => void): boolean {
  try {
    act();
    return false;
  } catch (error) {
    if (errno(error) === "EEXIST") return true;
    throw error;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was not made.
  }
}

function unusable(folder: string, why: string, cause?: unknown): MidwatchError {
  return new MidwatchError("NO_HARD_LINKS", `The file system of ${folder} has no working hard links (${why}).`, {
    hint: "A leader is chosen by them: put the workspace on a local disk (ext4, xfs, btrfs, tmpfs) with --workspace DIR.",
    cause,
    data: { path: folder },
  });
}
