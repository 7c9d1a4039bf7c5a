/** A registry of packed files on loopback: what `npm install NAME` asks, and nothing else, so an installation from it needs no network. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

interface Manifest {
  name: string;
  version: string;
}

export interface Registry extends AsyncDisposable {
  url: string;
}

/** Of all tarballs in these folders; several versions of a package are kept apart, the last one is the latest. */
export async function startRegistry(...folders: string[]): Promise<Registry> {
  const files = new Map<string, Buffer>();
  const packages = new Map<string, Map<string, { manifest: Manifest; file: string }>>();
  for (const folder of folders)
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
      files.set(file, readFileSync(join(folder, file)));
      const text = execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"], { encoding: "utf8" });
      const manifest = JSON.parse(text) as Manifest;
      const versions = packages.get(manifest.name) ?? new Map();
      packages.set(manifest.name, versions.set(manifest.version, { manifest, file }));
    }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const bytes = files.get(path.replace(/^files\//, ""));
    const versions = packages.get(path);
    if (bytes !== undefined) response.end(bytes);
    else if (versions !== undefined) response.end(JSON.stringify(described(path, versions)));
    else response.writeHead(404).end("{}");
  });
  const described = (name: string, versions: Map<string, { manifest: Manifest; file: string }>): object => ({
    name,
    "dist-tags": { latest: [...versions.keys()].at(-1) },
    versions: Object.fromEntries(
      [...versions].map(([version, { manifest, file }]) => {
        const integrity = `sha512-${createHash("sha512")
          .update(files.get(file) as Buffer)
          .digest("base64")}`;
        return [version, { ...manifest, dist: { tarball: `${url}files/${file}`, integrity } }];
      }),
    ),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
