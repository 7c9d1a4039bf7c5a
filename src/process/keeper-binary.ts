/**
 * Where the keeper's program is: MIDWATCH_KEEPER, the package for this platform, dist/, or compiled once with `cc` into
 * the user's cache. None of these is an error with a hint, never a weaker way of running. One that was not built from the sources
 * beside us is looked at first: the package's has to be the very file that this release was packed with, a named one has to speak our protocol.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";

export interface KeeperBinary {
  path: string;
  from: "MIDWATCH_KEEPER" | "package" | "dist" | "cache";
}

/** Of the orders and answers: keeper/keeper.h has the same. */
const PROTOCOL = 2;

/** Beside the bundle, where scripts/pack.mjs writes it; a clone has none. */
interface Packed {
  version: string;
  /** By platform. */
  sha256: Record<string, string>;
}

let found: KeeperBinary | undefined;
const spoken = new Set<string>();

export function keeperBinary(env: NodeJS.ProcessEnv = process.env): KeeperBinary {
  const named = env["MIDWATCH_KEEPER"];
  if (named) {
    if (!isExecutable(named)) throw missing(`MIDWATCH_KEEPER names ${named}, which cannot be executed.`);
    askProtocol(named);
    return { path: named, from: "MIDWATCH_KEEPER" };
  }
  found ??= fromPackage() ?? fromDist() ?? compiled(env);
  return found;
}

function askProtocol(path: string): void {
  if (spoken.has(path)) return;
  const told = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 10_000 });
  throwIfExhausted(told.error);
  if (told.stdout?.trim() !== `midwatch-keeper ${PROTOCOL}`)
    throw new MidwatchError("NO_KEEPER", `${path} is a keeper of another release of midwatch, or none.`, {
      hint: "Unset MIDWATCH_KEEPER, or build one of this release: make -C keeper",
    });
  spoken.add(path);
}

function fromPackage(): KeeperBinary | undefined {
  const platform = `${process.platform}-${process.arch}`;
  const packed = packedKeepers();
  const wanted = packed?.sha256[platform];
  if (packed === undefined || wanted === undefined) return undefined;
  let path: string;
  try {
    path = createRequire(import.meta.url).resolve(`@midwatch/keeper-${platform}/midwatch-keeper`);
  } catch {
    return undefined;
  }
  const hint = `Install both again, in one version: npm install -g midwatch@${packed.version}`;
  if (createHash("sha256").update(readFileSync(path)).digest("hex") !== wanted)
    throw new MidwatchError("NO_KEEPER", `${path} is not the keeper that midwatch ${packed.version} came with.`, {
      hint,
    });
  if (!isExecutable(path)) throw new MidwatchError("NO_KEEPER", `${path} cannot be executed.`, { hint });
  return { path, from: "package" };
}

function packedKeepers(): Packed | undefined {
  const path = join(packageRoot(), "dist", "keepers.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Packed) : undefined;
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
    hint: "Install midwatch with its optional packages, which bring a keeper (npm without --omit=optional); or a compiler to make one: apt-get install gcc make libc6-dev.",
  });
}
