import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskFault } from "./fault.ts";

/** A folder of one's own with copies of these files in it, by name; gone when `act` is done. */
export async function withScratch<T>(
  copies: Readonly<Record<string, string>>,
  act: (folder: string) => Promise<T>,
): Promise<T> {
  let folder: string | undefined;
  try {
    try {
      folder = mkdtempSync(join(tmpdir(), "midwatch-"));
      mkdirSync(join(folder, "objects"));
      for (const [name, path] of Object.entries(copies)) copyFileSync(path, join(folder, name));
    } catch (error) {
      throw diskFault(error, folder ?? tmpdir());
    }
    return await act(folder);
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}
