// Which packages of others are inside what we pack, and on which terms: their words come with ours.
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Terms that ask for no more than that their words are kept. */
const TAKEN = new Set(["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"]);

/** Of the pieces of the bundles, which name their sources, and of the page, which is packed too small for that. */
export function packagesInside(root, pieces) {
  const inside = new Set();
  for (const piece of pieces)
    for (const [, name] of readFileSync(piece, "utf8").matchAll(/^\/\/#region node_modules\/((?:@[^/]+\/)?[^/\s]+)/gm))
      inside.add(name);
  const add = (name) => {
    if (inside.has(name)) return;
    inside.add(name);
    for (const below of Object.keys(read(root, name).dependencies ?? {})) add(below);
  };
  for (const file of globSync(join(root, "web/src/**/*.{ts,tsx}")).filter((path) => !path.includes(".test.")))
    for (const [, name] of readFileSync(file, "utf8").matchAll(/ from "((?:@[a-z-]+\/)?[a-z][a-z-]*)[/"]/g)) add(name);
  return [...inside].sort();
}

/** The words of all of them as one text. Throws where one must not be packed, or does not say on which terms it is. */
export function theirTerms(root, names) {
  const texts = names.map((name) => {
    const { version, license } = read(root, name);
    if (!TAKEN.has(license)) throw new Error(`${name} ${version} is on terms that nobody looked at: ${license}`);
    const folder = folderOf(root, name);
    const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)/i.test(one));
    const words =
      file === undefined
        ? `Its package holds no more words than: ${license}.`
        : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version} (${license})\n\n${words}\n`;
  });
  return `Parts of these packages are in the files beside this one.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

const read = (root, name) => JSON.parse(readFileSync(join(folderOf(root, name), "package.json"), "utf8"));

function folderOf(root, name) {
  const folder = createRequire(join(root, "package.json"))
    .resolve.paths(name)
    .map((path) => join(path, name))
    .find((path) => existsSync(join(path, "package.json")));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return folder;
}
