import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { type Asset, packed } from "./static.ts";

const TEXT = "let a = 1;\n".repeat(1000);
const asset: Asset = {
  body: new TextEncoder().encode(TEXT) as Uint8Array<ArrayBuffer>,
  type: "text/javascript",
  hashed: true,
  packed: new Map(),
};

it.each([
  ["gzip, deflate, br, zstd", "br"],
  ["gzip, deflate", "gzip"],
  ["br;q=0, gzip;q=0.5", "gzip"],
  ["GZIP", "gzip"],
  ["br;q=0.0", undefined],
  ["identity", undefined],
  ["", undefined],
])("a browser that takes %j gets %s", async (accepted, expected) => {
  const { body, encoding } = await packed(asset, accepted);
  expect(encoding).toBe(expected);
  const plain = encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
  expect(Buffer.from(plain).toString()).toBe(TEXT);
});

it("is compressed once for all who ask", async () => {
  const [one, two] = await Promise.all([packed(asset, "br"), packed(asset, "br")]);
  expect(one.body).toBe(two.body);
  expect((await packed(asset, "br")).body).toBe(one.body);
});
