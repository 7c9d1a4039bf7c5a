import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Every entry below a folder: kind, mode, time of the last change and the content's hash. Equal snapshots mean that nothing was touched. */
export function snapshot(folder: string, skip: (name: string) => boolean = () => false): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (path: string, name: string): void => {
    const file = lstatSync(path);
    const content = file.isFile()
      ? createHash("sha256").update(readFileSync(path)).digest("hex")
      : file.isSymbolicLink()
        ? readlinkSync(path)
        : "";
    found[name] = [file.mode.toString(8), file.mtimeMs, file.size * Number(file.isFile()), content].join(" ");
    if (file.isDirectory())
      for (const entry of readdirSync(path)) if (!skip(entry)) look(join(path, entry), join(name, entry));
  };
  look(folder, ".");
  return found;
}
