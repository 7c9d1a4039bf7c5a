import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
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

export interface ScratchFile extends Disposable {
  path: string;
}

/** What a stream gives, as a file of this name; gone when it is disposed of. */
export async function scratchFile(data: AsyncIterable<Uint8Array>, name: string): Promise<ScratchFile> {
  const folder = mkdtempSync(join(tmpdir(), "midwatch-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, name);
  try {
    await writeFile(path, data, { flag: "wx", mode: 0o600 });
  } catch (error) {
    remove();
    throw diskFault(error, path);
  }
  return { path, [Symbol.dispose]: remove };
}
