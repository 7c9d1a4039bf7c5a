import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Workspace } from "../../src/fleet/workspace.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { rawLog, workspaceIn } from "../support/run.ts";

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function ended(workspace: Workspace, ...argv: string[]): Promise<{ agent: string; log: string }> {
  const { agent, log } = await workspace.runs.start({ argv });
  await workspace.runs.wait([agent]);
  return { agent, log };
}

async function records(workspace: Workspace, agent: string, options: object): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const record of workspace.logs.records(agent, options)) found.push(record);
  return found;
}

describe("archive", () => {
  it("R-000.20, R-000.27, R-004.1: compressed, read as before, restored byte for byte", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent, log } = await ended(
      workspace,
      "sh",
      "-c",
      'seq -f \'{"n":%.0f,"text":"some words of a line"}\' 200000; echo oops >&2; printf unfinished',
    );
    const before = await rawLog(workspace, agent);
    const options = [{ lines: 5 }, { offset: 150_000, limit: 3 }, { grep: "1999[0-9]{2}\\b", lines: 4 }];
    const read = await Promise.all(options.map((one) => records(workspace, agent, one)));
    const hits = (await midwatch(place, ["search", "--json", '"n":123456,'])).stdout;

    const archived = await workspace.files.archive(agent);
    expect(archived.files[0]).toMatchObject({ action: "archived", bytes: before.length, sha256: sha(before) });
    expect(archived.ratio).toBeLessThan(0.3);
    expect(existsSync(log)).toBe(false);
    const shown = await workspace.runs.show(agent);
    expect(shown).toMatchObject({
      phase: "archived",
      outcome: "completed",
      bytes: before.length,
      log: expect.stringMatching(/_stream\.1\.jsonl\.zst$/),
    });
    expect((await rawLog(workspace, agent)).equals(before)).toBe(true);
    expect((await rawLog(workspace, agent, { stderr: true })).toString()).toBe("oops\n");
    expect(await Promise.all(options.map((one) => records(workspace, agent, one)))).toEqual(read);
    expect((await midwatch(place, ["search", "--json", '"n":123456,'])).stdout).toBe(hits);
    expect(JSON.parse(hits)).toMatchObject({ agent, run: 1, seq: 123_456, cursor: expect.stringMatching(/@\d+$/) });
    expect((await workspace.logs.verify(agent)).ok).toBe(true);
    if (spawnSync("zstd", ["--version"]).status === 0)
      expect(sha(spawnSync("zstd", ["-dc", shown.log], { maxBuffer: 1 << 28 }).stdout)).toBe(sha(before));
    expect((await workspace.files.archive(agent)).files[0]?.action).toBe("archived");

    const restored = await workspace.files.restore(agent);
    expect(restored.files[0]).toMatchObject({ action: "kept", path: log, sha256: sha(before) });
    expect(readFileSync(log).equals(before)).toBe(true);
    expect(await workspace.runs.show(agent)).toMatchObject({ phase: "drained", log });
    expect(await workspace.logs.verify(agent)).toMatchObject({ ok: true, index: "ok", partial: true });
  });

  it("R-000.49: a tail and a page unpack their own frames only: damage elsewhere does not touch them", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await ended(workspace, "sh", "-c", "seq -f 'line %09.0f of a log that is packed' 400000");
    const options = [{ lines: 5 }, { offset: 10, limit: 3 }];
    const read = await Promise.all(options.map((one) => records(workspace, agent, one)));
    await workspace.files.archive(agent);
    const { log } = await workspace.runs.show(agent);
    const packed = readFileSync(log);
    writeFileSync(log, packed.fill(0x55, packed.length >> 1, (packed.length >> 1) + (packed.length >> 3)));
    expect(await Promise.all(options.map((one) => records(workspace, agent, one)))).toEqual(read);
    await expect(rawLog(workspace, agent)).rejects.toThrow();
  });

  it("R-000.27, R-004.1: never while the run lives or a process has the log open for writing", async () => {
    const workspace = workspaceIn(folder());
    const live = await workspace.runs.start({ argv: ["sleep", "30"] });
    await expect(workspace.files.archive(live.agent)).rejects.toMatchObject({ code: "REFUSED_ALIVE" });
    const { agent, log } = await ended(workspace, "echo", "x");
    const fd = openSync(log, "a");
    expect((await workspace.files.archive(agent)).files[0]).toMatchObject({
      action: "failed",
      error: expect.stringContaining("open for writing"),
    });
    appendFileSync(fd, "more\n");
    expect(readFileSync(log, "utf8")).toBe("x\nmore\n");
  });

  it("R-000.21, R-000.22, R-000.23: a log that is not what was recorded is kept aside, said, and still readable", async () => {
    const workspace = workspaceIn(folder());
    const { agent, log } = await ended(workspace, "seq", "1", "100000");
    const bytes = readFileSync(log);
    bytes[5000] = 0x58;
    writeFileSync(log, bytes);
    expect(await workspace.logs.verify(agent)).toMatchObject({ ok: false, index: "wrong" });
    const { files } = await workspace.files.archive(agent);
    expect(files[0]).toMatchObject({
      action: "kept",
      path: expect.stringContaining(".corrupted."),
      error: expect.stringContaining("damaged"),
    });
    expect((await rawLog(workspace, agent)).equals(bytes)).toBe(true);
    await workspace.files.archive(agent);
    const events = readFileSync(join(workspace.root, "events.log"), "utf8").split("\n");
    expect(events.filter((line) => line.includes("is damaged and was kept aside as"))).toHaveLength(1);
  });

  it("R-000.27: kill -9 at any moment leaves the log whole in one place, and the next call finishes", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent, log } = await ended(workspace, "seq", "1", "1500000");
    const before = await rawLog(workspace, agent);
    const script = `import { openWorkspace } from ${JSON.stringify(new URL("../../src/fleet/workspace.ts", import.meta.url).href)};
      await openWorkspace({ workspace: ${JSON.stringify(workspace.root)} }).files[process.argv[1]](${JSON.stringify(agent)});`;
    for (let round = 0; round < 16; round++) {
      const verb = round % 2 === 0 ? "archive" : "restore";
      spawnSync(process.execPath, ["--input-type=module", "-e", script, verb], {
        timeout: patient(60 + round * 12),
        killSignal: "SIGKILL",
        cwd: place,
      });
      expect(sha(await rawLog(workspace, agent)), `round ${round}`).toBe(sha(before));
      await (round % 2 === 0 ? workspace.files.archive(agent) : workspace.files.restore(agent));
      expect(sha(await rawLog(workspace, agent)), `after round ${round}`).toBe(sha(before));
    }
    const names = readdirSync(join(log, "..", "..", "archive"));
    expect(names.filter((name) => name.endsWith(".part") || name.endsWith(".zst"))).toEqual([]);
    expect(statSync(log).size).toBe(before.length);
  });

  it("R-000.38: each run has its own log; the next run moves it and overwrites nothing", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await ended(workspace, "sh", "-c", "echo one; exit 3");
    await workspace.files.archive(agent);
    await workspace.runs.restart(agent);
    await workspace.runs.wait([agent]);
    await workspace.runs.restart(agent);
    await workspace.runs.wait([agent]);
    const logs = await Promise.all([1, 2, 3].map(async (run) => (await rawLog(workspace, agent, { run })).toString()));
    expect(logs).toEqual(["one\n", "one\n", "one\n"]);
    expect(await records(workspace, agent, { run: 2 })).toMatchObject([
      { seq: 1, type: "lifecycle", data: { event: "agent_restart", run: 2 } },
      { seq: 2, text: "one" },
    ]);
    expect((await workspace.runs.show(agent)).runs.map(({ phase }) => phase)).toEqual([
      "archived",
      "drained",
      "drained",
    ]);
  });
});
