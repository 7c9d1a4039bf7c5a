/** Whether link(2) works in a folder as it has to: a second name for the same file, and EEXIST where a name is taken. */
import { randomBytes } from "node:crypto";
import { linkSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attempt, diskFault, noHardLinks } from "./fault.ts";

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
    if (statSync(name).ino !== statSync(second).ino) throw noHardLinks(folder, "a link is a copy there");
    if (attempt(["EEXIST"], folder, () => link(name, second)))
      throw noHardLinks(folder, "a link replaces another file there");
  } catch (error) {
    throw diskFault(error, folder);
  } finally {
    for (const made of [name, second]) remove(made);
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was not made.
  }
}
