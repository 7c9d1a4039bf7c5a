/** The fault zoo (zoo/zoo.c): processes that misbehave in every way we know, and a list of all that ever lived. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Life {
  pid: number;
  startTicks: number;
}

const place = (name: string): string => fileURLToPath(new URL(`zoo/${name}`, import.meta.url));

/** The zoo's program. */
export function zoo(): string {
  return compiled("zoo");
}

/** A C program of the folder `zoo`, compiled when it is missing or older than its source. */
export function compiled(name: string): string {
  const source = place(`${name}.c`);
  const binary = place(`build/${name}`);
  if (modified(binary) <= modified(source)) {
    mkdirSync(place("build"), { recursive: true });
    const made = `${binary}.${process.pid}`;
    const options = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"];
    execFileSync("cc", [...options, "-o", made, source], { stdio: "inherit" });
    renameSync(made, binary);
  }
  return binary;
}

/** Every process that a shape ever had, from its ZOO_PIDS file. */
export function livesIn(pidsFile: string): Life[] {
  const lives = new Map<string, Life>();
  for (const line of readFileSync(pidsFile, "utf8").split("\n")) {
    const [pid, startTicks] = line.split(" ").map(Number);
    if (pid && startTicks) lives.set(line, { pid, startTicks });
  }
  return [...lives.values()];
}

/** A zombie is dead, unless only its first thread ended: then the process goes on. */
export function isAlive({ pid, startTicks }: Life): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return false;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isDead = (fields[0] === "Z" || fields[0] === "X") && Number(fields[17]) <= 1;
  return Number(fields[19]) === startTicks && !isDead;
}

export function lifeOf(pid: number): Life {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return { pid, startTicks: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]) };
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
