/** Compiles the load programs of bench/load into the bench's folder. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const sources = fileURLToPath(new URL("../load/", import.meta.url));

export function compileLoads(dir: string): (name: string) => string {
  mkdirSync(dir, { recursive: true });
  const made = new Set<string>();
  for (const file of readdirSync(sources).filter((name) => name.endsWith(".c"))) {
    const name = basename(file, ".c");
    const flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"];
    execFileSync(process.env["CC"] ?? "cc", [...flags, "-o", join(dir, name), join(sources, file)], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    made.add(name);
  }
  return (name) => {
    if (!made.has(name)) throw new Error(`there is no bench/load/${name}.c`);
    return join(dir, name);
  };
}
