import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const folder = fileURLToPath(new URL("../../dist/web", import.meta.url));
const MOST = 60_000;

it("the whole page comes to at most 60 kB compressed, and nothing in it is inline or from elsewhere", () => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce(
    (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name))).length,
    0,
  );
  expect(files.length).toBeGreaterThan(2);
  expect(bytes).toBeLessThanOrEqual(MOST);
  const html = readFileSync(join(folder, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|https?:\/\//);
});
