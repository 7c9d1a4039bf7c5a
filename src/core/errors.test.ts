import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERRORS, MidwatchError, toMidwatchError } from "./errors.ts";

/** The rows of docs/errors.md as the table in the code would have them. */
function documented(): Record<string, unknown> {
  const text = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = text.matchAll(/^\| `([A-Z_]+)` \| (\d) \| (\d{3}) \| (yes|no) \| [^|]+ \| [^|]+ \|$/gm);
  return Object.fromEntries(
    [...rows].map(([, code, exit, status, again]) => [
      code,
      { exit: Number(exit), status: Number(status), retryable: again === "yes" },
    ]),
  );
}

describe("errors", () => {
  it("R-000.44: are documented: each code in docs/errors.md, and nothing else there", () => {
    expect(documented()).toEqual(ERRORS);
  });

  it("take exit code, status and retryable from the table", () => {
    const error = new MidwatchError("REGISTRY_BUSY", "locked");
    expect([error.exitCode, error.httpStatus, error.retryable]).toEqual([5, 503, true]);
    expect(new MidwatchError("REFUSED_LIMIT", "deep", { retryable: false }).retryable).toBe(false);
  });

  it("look the same in JSON at every door", () => {
    const error = new MidwatchError("BAD_ID", "no", { hint: "yes", data: { inner: 1 } });
    expect(JSON.parse(JSON.stringify({ error }))).toEqual({
      error: { code: "BAD_ID", message: "no", hint: "yes", retryable: false },
    });
    expect(new MidwatchError("BAD_ID", "no").toJSON().hint).toBeNull();
  });

  it("keep what was thrown as the cause", () => {
    const thrown = new TypeError("oops");
    const error = toMidwatchError(thrown);
    expect([error.code, error.message, error.cause]).toEqual(["INTERNAL", "oops", thrown]);
    expect(toMidwatchError(error)).toBe(error);
    expect(toMidwatchError("text").message).toBe("text");
  });

  it("a file that is deleted under us is no fault of ours", () => {
    const thrown = Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT", path: "/w/active" });
    expect(toMidwatchError(thrown)).toMatchObject({
      code: "NOT_FOUND_FILE",
      message: "/w/active was taken away meanwhile.",
      retryable: true,
      cause: thrown,
    });
    // As a program that is missing is told by Node.
    const missing = Object.assign(new Error("spawn x ENOENT"), { code: "ENOENT", path: "x", spawnargs: [] });
    expect(toMidwatchError(missing).code).toBe("INTERNAL");
  });
});
