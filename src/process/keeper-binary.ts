/**
 * Where the keeper's program is: MIDWATCH_KEEPER, the package for this platform, dist/, or compiled once with `cc` into
 * the user's cache. None of these is an error with a hint, never a weaker way of running.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MidwatchError } from "../core/errors.ts";

export interface KeeperBinary {
  path: string;
  from: "MIDWATCH_KEEPER" | "package" | "dist" | "cache";
}

let found: KeeperBinary | undefined;

export function keeperBinary(env: NodeJS.ProcessEnv = process.env): KeeperBinary {
  const named = env["MIDWATCH_KEEPER"];
  if (named) {
    if (isExecutable(named)) return { path: named, from: "MIDWATCH_KEEPER" };
    throw missing(`MIDWATCH_KEEPER names ${named}, which cannot be executed.`);
  }
  found ??= fromPackage() ?? fromDist() ?? compiled(env);
  return found;
}

function fromPackage(): KeeperBinary | undefined {
  try {
    const path = createRequire(import.meta.url).resolve(
      `@midwatch/keeper-${process.platform}-${process.arch}/midwatch-keeper`,
    );
    return isExecutable(path) ? { path, from: "package" } : undefined;
  } catch {
    return undefined;
  }
}

/** The folder with package.json: above src/process, above dist/process, or above the bundle dist/midwatch.js. */
function packageRoot(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, "package.json")) && at !== dirname(at)) at = dirname(at);
  return at;
}

function fromDist(): KeeperBinary | undefined {
  const path = join(packageRoot(), "dist", "midwatch-keeper");
  return isExecutable(path) ? { path, from: "dist" } : undefined;
}

function compiled(env: NodeJS.ProcessEnv): KeeperBinary {
  const source = join(packageRoot(), "keeper");
  if (process.platform !== "linux" && process.platform !== "darwin")
    throw missing(`There is no keeper for ${process.platform}: Linux is supported; for macOS it compiles, untried.`);
  if (!existsSync(join(source, "main.c"))) throw missing("The keeper's sources are not in this installation.");
  const path = join(
    env["XDG_CACHE_HOME"] || join(homedir(), ".cache"),
    "midwatch",
    `midwatch-keeper-${hashOf(source)}`,
    "midwatch-keeper",
  );
  if (isExecutable(path)) return { path, from: "cache" };
  const made = spawnSync("make", ["-s", "-C", source, `OUT=${path}`], { encoding: "utf8", timeout: 120_000 });
  if (made.status === 0 && isExecutable(path)) return { path, from: "cache" };
  const why = made.error ? "`make` and a C compiler are needed" : made.stderr.trim().split("\n").slice(-3).join(" ");
  throw missing(`The keeper could not be compiled: ${why}`);
}

/** A new version of the sources gets a new name: a running keeper's file is never replaced. */
function hashOf(folder: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder)
    .filter((file) => /\.[ch]$/.test(file))
    .sort())
    hash.update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function missing(message: string): MidwatchError {
  return new MidwatchError("NO_KEEPER", message, {
    hint: "On Debian: apt-get install -y gcc make libc6-dev; on macOS: xcode-select --install. Or set MIDWATCH_KEEPER to a keeper program.",
  });
}
