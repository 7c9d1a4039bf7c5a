/**
 * The words that will still run midwatch after an upgrade: for what is written into units and into the settings of other programs. A name on PATH
 * stays where the folder of a version goes; what a package runner (npx) fetched is in a folder that comes and goes, and no place for them.
 */
import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { withoutOuterRun } from "./environment.ts";
import { installedWords } from "./self.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** npx, pnpm dlx, bunx, yarn dlx. */
const CACHE = /\/(_npx|dlx|dlx-[^/]*|bunx-[^/]*|xfs-[^/]*)\//;

export const isInCache = (path: string): boolean => CACHE.test(`${path}/`);

/** PATH without what comes and goes: folders of caches, and of the run that we may be part of. */
export function lastingPath(env: Env): string {
  const { PATH = "" } = withoutOuterRun({ ...env });
  return PATH.split(delimiter)
    .filter((part) => isAbsolute(part) && !isInCache(part))
    .join(delimiter);
}

export function lastingWords(args: readonly string[], env: Env): [string, ...string[]] {
  const [node, entry] = installedWords([]) ?? [];
  if (node === undefined || entry === undefined) throw notInstalled("is a part of another program here");
  const launcher = join(packageOf(entry), "midwatch");
  if (existsSync(launcher)) return [launcher, ...args]; // A clone: it finds its own Node, and builds what is old.
  const words = lastingNames(node, entry, env);
  if (words.some(isInCache)) throw notInstalled("runs from a cache here, which may be emptied at any time");
  return [...words, ...args];
}

/** The names of Node and of our program that stay the longest. */
export function lastingNames(node: string, entry: string, env: Env): [string, string] {
  const path = lastingPath(env);
  return [named("node", node, path) ?? node, named("midwatch", entry, path) ?? withoutStore(entry)];
}

function notInstalled(how: string): MidwatchError {
  return new MidwatchError("NOT_INSTALLED", `midwatch ${how}.`, {
    hint: "npm install -g midwatch, then the same command of that midwatch",
  });
}

/** The first name on PATH that leads to this file. */
function named(program: string, file: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((one) => existsSync(one) && realpathSync(one) === realpathSync(file));
}

/** pnpm keeps each version in a folder of its own, and a link to the one in use above them. */
function withoutStore(entry: string): string {
  const link = entry.replace(/\/node_modules\/\.pnpm\/[^/]+\/node_modules\//, "/node_modules/");
  return existsSync(link) ? link : entry;
}

/** The folder with package.json. */
function packageOf(entry: string): string {
  let at = dirname(entry);
  while (!existsSync(join(at, "package.json")) && at !== dirname(at)) at = dirname(at);
  return at;
}
