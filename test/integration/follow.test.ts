import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Workspace } from "../../src/fleet/workspace.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { until, workspaceIn } from "../support/run.ts";

const COUNT = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i; sleep 0.005; done";
const WAITS = "until [ -e go ]; do sleep 0.02; done";
const NUMBERS = Array.from({ length: 200 }, (_, i) => String(i + 1));

/** Follows in the background and gathers the lines. */
function following(
  workspace: Workspace,
  agent: string,
  options: object = {},
): { lines: string[]; done: Promise<void> } {
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { raw } of workspace.logs.read(agent, { follow: true, ...options }))
      lines.push(raw.bytes.toString());
  };
  return { lines, done: read() };
}

describe("following", () => {
  it("R-000.28, R-000.36: any number of followers get every line once, in order, and end with the run", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", COUNT] });
    const readers = Array.from({ length: 5 }, () => following(workspace, agent));
    await Promise.all(readers.map(({ done }) => done));
    for (const { lines } of readers) expect(lines).toEqual(NUMBERS);
  });

  it("R-000.37, R-000.33: goes on through the deletion of the log's folder: nothing lost, nothing twice", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const half = COUNT.replace("echo $i;", `echo $i; [ $i -ne 100 ] || ${WAITS};`);
    const { agent, log } = await workspace.runs.start({ argv: ["sh", "-c", half] });
    const { lines, done } = following(workspace, agent);
    await until(() => lines.length > 30);
    rmSync(dirname(log), { recursive: true, maxRetries: 20, retryDelay: 5 });
    writeFileSync(join(place, "go"), "");
    await done;
    expect(lines).toEqual(NUMBERS);
  });

  it("R-000.38: goes on into the next run when the agent is restarted at once", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", "echo a; sleep 0.3; echo b"] });
    const { lines, done } = following(workspace, agent);
    await workspace.runs.wait([agent]);
    await done;
    await workspace.runs.restart(agent);
    const again = following(workspace, agent, { run: 1 });
    await again.done;
    expect(lines).toEqual(["a", "b"]);
    expect(again.lines).toEqual(["a", "b"]);
  });

  it("R-000.38: --forever goes on into every next run, however long after, until it is told to end", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", "echo a"] });
    await workspace.runs.wait([agent]);
    const ending = new AbortController();
    const { lines, done } = following(workspace, agent, { forever: true, signal: ending.signal });
    const said = (): string[] => lines.filter((line) => !line.includes("agent_restart"));
    for (const times of [2, 3]) {
      await until(() => said().length === times - 1);
      await workspace.runs.restart(agent);
      await workspace.runs.wait([agent]);
    }
    await until(() => said().length === 3);
    ending.abort();
    await done;
    expect(said()).toEqual(["a", "a", "a"]);
  });

  it("R-000.30: a log that is empty so far is an empty page, not an error; follow waits for it", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", `${WAITS}; echo late`] });
    expect(await midwatch(place, ["logs", agent])).toMatchObject({ code: 0, stdout: "" });
    const { lines, done } = following(workspace, agent);
    writeFileSync(join(place, "go"), "");
    await done;
    expect(lines).toEqual(["late"]);
  });

  it("R-000.31: an agent that printed nothing gives an empty page, and a note that leads to its stderr", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const failed = await workspace.runs.start({ argv: ["sh", "-c", "echo why >&2; exit 1"] });
    const silent = await workspace.runs.start({ argv: ["true"] });
    await workspace.runs.wait([failed.agent, silent.agent]);
    const { code, stdout, stderr } = await midwatch(place, ["logs", failed.agent]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain(`midwatch logs --stderr ${failed.agent}`);
    expect((await midwatch(place, ["logs", silent.agent])).stderr).toContain(`midwatch show ${silent.agent}`);
  });

  it("R-000.3, R-000.16, R-000.17: with --json -n counts records; --limit alone begins at the first line", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent, task } = await workspace.runs.start({ argv: ["printf", "one\\n\\ntwo\\n\\n"] });
    await workspace.runs.wait([agent]);
    for (const more of [[agent], [agent, "--grep", "^"], ["--task", task]]) {
      const { stdout } = await midwatch(place, ["logs", "--json", "-n", "2", ...more]);
      expect(
        stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line).text),
        more.join(" "),
      ).toEqual(["one", "two"]);
    }
    expect((await midwatch(place, ["logs", agent, "--limit", "1"])).stdout).toBe("one\n");
    for (const more of [["--json"], ["--grep", "x"], ["--offset", "1"], ["--limit", "1"], ["--since", "1h"]])
      expect(await midwatch(place, ["logs", "--raw", agent, ...more]), more[0]).toMatchObject({ code: 2, stdout: "" });
  });

  it("R-000.19, R-000.40, R-000.45: the last 100 by default, filter before tail, page, since; a bad or endless regular expression is refused", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent } = await workspace.runs.start({
      argv: ["sh", "-c", 'seq -f "line %.0f" 1000; echo; echo ERROR one; seq 5; echo ERROR two; echo fine'],
    });
    await workspace.runs.wait([agent]);
    const text = async (...args: string[]): Promise<string> => (await midwatch(place, ["logs", ...args, agent])).stdout;
    expect(await text("--grep", "^ERROR", "-n", "10")).toBe("ERROR one\nERROR two\n");
    expect(await text("--grep", "^ERROR", "-n", "1")).toBe("ERROR two\n");
    expect(await text("--offset", "998", "--limit", "4")).toBe("line 999\nline 1000\n\nERROR one\n");
    expect((await text()).split("\n").slice(0, -1)).toHaveLength(100);
    expect(await text("-n", "2")).toBe("ERROR two\nfine\n");
    expect(await text("--since", "1h", "-n", "1")).toBe("fine\n");
    expect(await text("--since", new Date(Date.now() + 60_000).toISOString())).toBe("");
    for (const bad of ["(", "(a)\\1", "(?=x)"])
      expect(await midwatch(place, ["logs", "--grep", bad, agent])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("BAD_REGEX"),
      });
    // Exponential for a backtracking engine; here it is over at once.
    expect(await midwatch(place, ["logs", "--grep", "^(([a-z])+.)+[A-Z]([a-z])+$", agent])).toMatchObject({ code: 0 });
    const [record] = (await text("--json", "-n", "1")).split("\n");
    expect(JSON.parse(record ?? "")).toMatchObject({
      seq: 1009,
      type: "stdout",
      text: "fine",
      timestamp: expect.stringMatching(/Z$/),
    });
  });

  it("R-000.50: logs --task merges the agents of a task by time", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { task } = workspace.runs.makeTask("both");
    const [a, b] = await Promise.all(
      ["a", "b"].map((name) =>
        workspace.runs.start({ argv: ["sh", "-c", `for i in 1 2 3; do echo ${name}$i; sleep 0.25; done`], name, task }),
      ),
    );
    await workspace.runs.wait([a?.agent, b?.agent]);
    const { stdout } = await midwatch(place, ["logs", "--json", "--task", task]);
    const records = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(records.map(({ text }) => text).sort()).toEqual(["a1", "a2", "a3", "b1", "b2", "b3"]);
    const times = records.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort());
    expect(new Set(records.map(({ agent }) => agent))).toEqual(new Set([a?.agent, b?.agent]));
    expect((await midwatch(place, ["logs", "--task", task, a?.agent ?? ""])).code).toBe(2);
  });
});
