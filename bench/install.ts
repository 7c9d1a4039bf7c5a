/** What `npm install -g midwatch` puts on a disk, from packed files, beside the packages that are inside it, installed by themselves. */
import { execFileSync } from "node:child_process";
import { globSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findTool } from "../test/support/tools.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MB = 1_000_000;
const SIZE_BAR_MB = 12;
const PACKAGES_BAR = 10;
const INSIDE = ["hono", "@hono/node-server", "@modelcontextprotocol/server", "@modelcontextprotocol/core", "ws", "zod"];

export async function bench({ dir, say }: Options): Promise<Row[]> {
  if (findTool("zig") === undefined) return [];
  const [packed, prefix] = [join(dir, "packed"), join(dir, "prefix")];
  say("packing and installing");
  const pack = [join(ROOT, "scripts/run.mjs"), "scripts/pack.mjs", "--to", packed];
  execFileSync(process.execPath, [...pack, "--platform", `${process.platform}-${process.arch}`], { stdio: "ignore" });
  const files = readdirSync(packed).map((name) => join(packed, name));
  const npm = ["install", "-g", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", prefix];
  execFileSync("npm", [...npm, ...files], {
    stdio: "ignore",
    env: { ...process.env, npm_config_cache: join(dir, "npm") },
  });
  const installed = measure(join(prefix, "lib/node_modules"));
  const inside = INSIDE.map((name) => measure(join(ROOT, "node_modules", name)).bytes).reduce((a, b) => a + b);
  return [
    row({
      promise: "install",
      figure: "on disk, midwatch and its keeper",
      measured: `${(installed.bytes / MB).toFixed(1)} MB`,
      peer: `the ${INSIDE.length} packages inside it by themselves: ${(inside / MB).toFixed(1)} MB`,
      ratio: `${(installed.bytes / inside).toFixed(2)} x`,
      ...atMost(installed.bytes / MB, SIZE_BAR_MB, " MB"),
    }),
    row({
      promise: "install",
      figure: "packages",
      measured: String(installed.packages),
      ...atMost(installed.packages, PACKAGES_BAR, ""),
      note: "midwatch, and the keeper of this platform, which is optional",
    }),
  ];
}

function measure(folder: string): { bytes: number; packages: number } {
  const files = globSync("**/*", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return { bytes, packages: files.filter(({ name }) => name === "package.json").length };
}
