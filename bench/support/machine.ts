/** What the figures were measured on. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

export interface About {
  dir: string;
  quick: boolean;
  givenKeeper: boolean;
  seconds: number;
  loadBefore: number;
}

export function machine({ dir, quick, givenKeeper, seconds, loadBefore }: About): string[] {
  const model = cpus()[0]?.model.trim() ?? "unknown";
  const memory = `${(totalmem() / 2 ** 30).toFixed(1)} GiB`;
  const lines = [
    `- date ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC, commit ${commit()}`,
    `- ${cpus().length} x ${model}, ${memory} memory, Linux ${release()}, ${fileSystem(dir)}, Node ${process.version}`,
    `- load average ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after; the run took ${Math.round(seconds)} s`,
  ];
  if (givenKeeper) lines.push("- the keeper was given by MIDWATCH_KEEPER and may not be of this commit");
  if (quick) lines.push("- **a quick run**: small sizes, to see that everything works; not to be quoted");
  return lines;
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, {
      encoding: "utf8",
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    // This page is written by the run itself and does not make the sources different.
    const changed = git("status", "--porcelain", "--", ":/src", ":/keeper", ":/bench");
    return `${git("rev-parse", "--short", "HEAD")}${changed ? " with changes that are not committed" : ""}`;
  } catch {
    return "unknown";
  }
}

/** Type and device of the file system that holds `path`. */
function fileSystem(path: string): string {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [left = "", right = ""] = line.split(" - ");
      return { at: left.split(" ")[4] ?? "", type: right.split(" ")[0] ?? "", device: right.split(" ")[1] ?? "" };
    })
    .filter(({ at }) => at === "/" || path === at || path.startsWith(`${at}/`))
    .sort((a, b) => b.at.length - a.at.length);
  const mount = mounts[0];
  return mount ? `${mount.type} on ${mount.device}` : "unknown file system";
}
