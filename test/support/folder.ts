import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder that is removed when the test ends. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-test-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 }));
  return path;
}
