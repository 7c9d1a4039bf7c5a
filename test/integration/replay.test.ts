/** What the drivers say of streams that the real CLIs printed: test/fixtures/streams, recorded by test/soak/real-clis.ts. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Tokens } from "../../src/core/types.ts";
import { driverNamed } from "../../src/drivers/index.ts";
import { readAll } from "../support/cli/driver.ts";
import { CLI_NAMES } from "../support/cli/real-clis.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/streams", import.meta.url));

interface Recorded {
  cli: string;
  exit: { code: number | null; signal: string | null };
  stopped: boolean;
  /** What the model counted of answers that it sent whole. */
  usage: Tokens;
}

/** Case to outcome, and what the reason must speak of. */
const EXPECTED: Readonly<Record<string, readonly [outcome: string, reason: RegExp | null]>> = {
  success: ["completed", null],
  "rate-limited": ["completed", null],
  unauthorized: ["failed", /401|key|auth|credential/i],
  quota: ["failed", /quota|limit|429/i],
  overloaded: ["failed", /overload|529|capacity|exit/i],
  cut: ["failed", /./],
  silent: ["stopped", /./],
  stalled: ["stopped", /./],
  stopped: ["stopped", /./],
  terminated: ["failed", /./],
  killed: ["failed", /SIGKILL/],
};

const streams = globSync("*.jsonl", { cwd: FOLDER }).map((file) => {
  const name = basename(file, ".jsonl");
  const [cli = "", ...rest] = name.split("-");
  return { name, cli, kind: rest.join("-"), file: join(FOLDER, file) };
});

describe("recorded streams of the real CLIs", () => {
  it("are there, for each CLI and each end", () => {
    expect(streams).toHaveLength(CLI_NAMES.length * Object.keys(EXPECTED).length);
  });

  it.each(streams)("$name: the right outcome, and why", ({ file, cli, kind }) => {
    const recorded = JSON.parse(readFileSync(file.replace(/l$/, ""), "utf8")) as Recorded;
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    const driver = driverNamed(cli);
    const { result, activities } = readAll(
      driver,
      lines.map((line) => JSON.parse(line)),
    );
    const judged = driver.judge({ exit: recorded.exit, stopRequested: recorded.stopped, limit: null, result });
    const [outcome, reason] = EXPECTED[kind] ?? [];
    expect(judged.outcome).toBe(outcome);
    if (reason === null) expect(judged.reason).toBeNull();
    else expect(judged.reason).toMatch(reason as RegExp);
    expect(activities.filter(({ kind: what }) => what === "unparsed")).toEqual([]);
    if (kind === "success") {
      expect(result.tokens).toEqual(recorded.usage);
      expect(result.session).not.toBeNull();
      expect(activities.some(({ kind: what }) => what === "tool")).toBe(true);
    }
    // Codex does not print what the API says of it.
    if (kind === "quota" && cli !== "codex") expect(result.trouble?.resets_at).toBe("2030-01-01T00:00:00.000Z");
  });
});
