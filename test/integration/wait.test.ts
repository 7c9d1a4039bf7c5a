import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ListRecord } from "../../src/core/types.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";

const records = (stdout: string): ListRecord[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

it("wait tells how each ended; its exit code is 0 only if all completed", async () => {
  const at = lab();
  const [fine, alsoFine, broken] = await Promise.all(["exit 0", "sleep 0.1", "exit 3"].map((script) => at.sh(script)));
  const good = await at.cli("wait", "--json", fine?.agent ?? "", alsoFine?.agent ?? "");
  expect([good.code, records(good.stdout).map(({ outcome }) => outcome)]).toEqual([0, ["completed", "completed"]]);
  const bad = await at.cli("wait", "--json", fine?.agent ?? "", broken?.agent ?? "");
  expect([bad.code, records(bad.stdout).map(({ exit }) => exit.code)]).toEqual([1, [0, 3]]);
});

it("wait --any returns with the first that ended, and only with what has ended", async () => {
  const at = lab();
  const go = join(at.folder, "go");
  const slow = await at.sh("exec sleep 300");
  const quick = await at.sh(`until [ -e "${go}" ]; do sleep 0.02; done`);
  const waiting = at.workspace.runs.wait([slow.agent, quick.agent], { any: true, timeoutMs: patient(20_000) });
  closeSync(openSync(go, "w"));
  expect((await waiting).map(({ agent, outcome }) => [agent, outcome])).toEqual([[quick.agent, "completed"]]);
});

it("wait --timeout gives what there is, with exit code 1, and ends nothing", async () => {
  const at = lab();
  const { agent } = await at.sh("exec sleep 300");
  const begun = performance.now();
  const { code, stdout } = await at.cli("wait", "--json", "--timeout", "300ms", agent);
  expect([code, records(stdout)[0]?.phase]).toEqual([1, "running"]);
  expect(performance.now() - begun).toBeGreaterThanOrEqual(300);
  const ending = new AbortController();
  const waiting = at.workspace.runs.wait([agent], { signal: ending.signal });
  ending.abort();
  expect(await waiting).toMatchObject([{ phase: "running" }]);
  expect(at.survivors()).toHaveLength(1);
});

it("run --wait prints the start and the end; the end decides the exit code", async () => {
  const at = lab();
  const { code, stdout } = await at.cli("run", "--json", "--wait", "--", "sh", "-c", "exit 3");
  const [started, over] = records(stdout);
  expect([code, started?.phase, over?.phase, over?.outcome, over?.exit.code]).toEqual([
    1,
    "running",
    "drained",
    "failed",
    3,
  ]);
  expect((await at.cli("run", "--wait", "--", "true")).code).toBe(0);
});
