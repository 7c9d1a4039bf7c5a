/** The page, from the folder that the build left beside us. Read once: the files of a release do not change. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export interface Asset {
  body: Uint8Array<ArrayBuffer>;
  type: string;
  /** Its name changes with its content. */
  hashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

/** Only what is in the folder can be asked for: the path of a request is a key, never part of a path. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const folder = assetFolder();
  if (folder === undefined) return new Map();
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && extname(entry.name) in TYPES)
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const type = TYPES[extname(entry.name)] as string;
        const hashed = /-[A-Za-z0-9_-]{8,}\.\w+$/.test(entry.name);
        return [`/${relative(folder, path)}`, { body: new Uint8Array(readFileSync(path)), type, hashed }];
      }),
  );
}

/** Beside the bundle (dist/midwatch.js), or in dist/ when started from the sources. */
function assetFolder(): string | undefined {
  const here = fileURLToPath(import.meta.url);
  return [join(here, "..", "web"), join(here, "../../../..", "dist", "web"), join(here, "../../..", "web")].find(
    (folder) => existsSync(join(folder, "index.html")),
  );
}
