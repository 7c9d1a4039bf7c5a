/**
 * The page, from the folder that the build left beside us. Read once: the files of a release do not change. Compressed once too, when the first browser
 * asks: most servers are never looked at.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

export interface Asset {
  body: Uint8Array<ArrayBuffer>;
  type: string;
  /** Its name changes with its content. */
  hashed: boolean;
  /** What it came to, by encoding. */
  packed: Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>;
}

type Encoding = "br" | "gzip";

/** The best first. On threads of their own: nobody waits for them but who asked. */
const PACK: Readonly<Record<Encoding, (body: Uint8Array) => Promise<Buffer>>> = {
  br: promisify<Uint8Array, Buffer>(brotliCompress),
  gzip: promisify<Uint8Array, Buffer>(gzip),
};
const ENCODINGS = Object.keys(PACK) as Encoding[];

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
        const body = new Uint8Array(readFileSync(path));
        return [`/${relative(folder, path)}`, { body, type, hashed, packed: new Map() }];
      }),
  );
}

/** What a browser that takes these encodings gets. */
export async function packed(
  { body, packed: known }: Asset,
  accepted: string,
): Promise<{ body: Uint8Array<ArrayBuffer>; encoding?: Encoding }> {
  const encoding = ENCODINGS.find((one) => takes(accepted, one));
  if (encoding === undefined) return { body };
  const made = known.get(encoding) ?? PACK[encoding](body).then((bytes) => new Uint8Array(bytes));
  known.set(encoding, made);
  return { body: await made, encoding };
}

/** `br;q=0` is a refusal. */
function takes(accepted: string, encoding: Encoding): boolean {
  return accepted.split(",").some((one) => {
    const [name = "", quality = ""] = one.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !/^q=0(\.0*)?$/.test(quality);
  });
}

/** Beside the bundle (dist/midwatch.js), or in dist/ when started from the sources. */
function assetFolder(): string | undefined {
  const here = fileURLToPath(import.meta.url);
  return [join(here, "..", "web"), join(here, "../../../..", "dist", "web"), join(here, "../../..", "web")].find(
    (folder) => existsSync(join(folder, "index.html")),
  );
}
