import { describe, expect, it } from "vitest";
import { loadConfig } from "../core/config/config.ts";
import { freeSpace, preflight } from "./free-space.ts";

const config = loadConfig();
const MiB = 1024 ** 2;

describe("preflight", () => {
  const at = (bytes: number, inodes = 1e6) => preflight("/w", config, () => ({ bytes, inodes }));

  it("R-000.11: refuses a start below 100 MB with a clear error", () => {
    expect(() => at(50 * MiB)).toThrow("Only 50.0 MiB are free at /w; a start needs 100.0 MiB.");
  });

  it("refuses a start without inodes", () => {
    expect(() => at(1e12, 63)).toThrow("Only 63 inodes are free");
    expect(at(1e12, Number.POSITIVE_INFINITY).state).toBe("ok");
  });

  it("warns below 500 MB", () => {
    expect(at(400 * MiB)).toMatchObject({ state: "warning", message: expect.stringContaining("400.0 MiB") });
    expect(at(500 * MiB).state).toBe("ok");
  });
});

describe("freeSpace", () => {
  it("asks the file system", () => {
    const free = freeSpace("/");
    expect(free.bytes).toBeGreaterThan(0);
    expect(free.inodes).toBeGreaterThan(0);
    expect(() => freeSpace("/no/such/folder")).toThrow(/ENOENT/);
  });
});
