/** What is left of something that had a folder of its own: processes and files. Found by the tests themselves, not by midwatch. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Processes that have anything to do with a folder: where they work, what they were started with, what they were told. */
export function processesOf(place: string): string[] {
  const about = (pid: string): string => {
    try {
      const files = ["cmdline", "environ"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8"));
      return [readlinkSync(`/proc/${pid}/cwd`), ...files].join("\0");
    } catch {
      return ""; // It has ended, or is nobody's business.
    }
  };
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && about(pid).includes(place));
}

/** Files in a temporary folder. npm keeps what V8 made of it there. */
export const filesIn = (place: string): string[] => readdirSync(place).filter((name) => name !== "node-compile-cache");
