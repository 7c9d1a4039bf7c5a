import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder } from "../support/folder.ts";
import { processesOf } from "../support/left.ts";
import { patient } from "../support/patience.ts";
import { CLI } from "../support/workspace.ts";

/** The demo in a temporary folder of the test's own, so that what it leaves there can be seen. */
function startDemo(...args: string[]) {
  const place = folder();
  const child = spawn(process.execPath, [CLI, "demo", ...args], {
    env: { ...process.env, TMPDIR: place, DISPLAY: "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const seen = { text: "" };
  child.stdout.on("data", (part) => {
    seen.text += part;
  });
  return { place, child, seen, closed: once(child, "close") };
}

describe("the demo", () => {
  it("--once: verdicts, a killed server, nothing lost, a receipt, and nothing left", async () => {
    const { place, seen, closed } = startDemo("--once");
    await expect.poll(() => seen.text, { timeout: patient(30_000) }).toContain("answers questions");
    const page = await fetch(seen.text.match(/Dashboard: (\S+)/)?.[1] ?? "", { redirect: "manual" });
    expect(page.status).toBe(200);
    expect(processesOf(place).length).toBeGreaterThan(10);
    expect((await closed)[0]).toBe(0);
    for (const line of [
      /fix-\S+ +on_track: Completed/,
      /loop-\S+ +blocked/,
      /because the same call with the same result in a row: \d+ \(from 4\); see lines 3 to/,
      /hang-\S+ +blocked/,
      /because seconds of silence while it waits for its model/,
      /crash-\S+ +blocked: Failed/,
      /killed with SIGKILL/,
      /Another takes over \(pid \d+\)\. Dashboard: http/,
      /missing: 0\./,
      /0 bytes lost/,
      /The line in which crash-\S+ died is kept/,
      /"On which port .*" "The parser service listens on port 4100\."/,
      /fork-\S+ +\d+ ended \(.*\), 0 left, .* proof: (cgroup|subreaper)/,
      /processes ended, 0 left, all verified/,
    ])
      expect(seen.text).toMatch(line);
    expect([readdirSync(place), processesOf(place)]).toEqual([[], []]);
  });

  it("Ctrl-C ends it wherever it is, with the receipt, and nothing is left", async () => {
    const { place, child, seen, closed } = startDemo();
    await expect.poll(() => seen.text, { timeout: patient(30_000) }).toContain("fork-");
    child.kill("SIGINT");
    expect((await closed)[0]).toBe(130);
    expect(seen.text).toMatch(/processes ended, 0 left, all verified/);
    expect([readdirSync(place), processesOf(place)]).toEqual([[], []]);
  });
});
