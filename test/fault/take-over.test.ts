import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { takeOver } from "../soak/take-over.ts";
import { keeperOf } from "../support/fault/keeper-kill.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { takeOverWorkspace } from "../support/trusted.ts";
import { lives, text, until } from "../support/workspace.ts";

it("R-004.11: all but the keepers killed -9: a new process has 40 agents right, those that ended meanwhile too", async () => {
  const { failures, figures } = await takeOver(40);
  console.log("take-over of 40 agents", figures);
  expect(failures).toEqual([]);
});

describe.each([
  ["boot", /"boot_id":"[^"]+"/, '"boot_id":"00000000-0000-4000-8000-000000000000"'],
  ["pid namespace", /"pid_ns":"[^"]+"/, '"pid_ns":"1"'],
])("facts from another %s", (what, pattern, replacement) => {
  it("R-004.3: the run is lost and nobody is ever signalled, although pid and start time fit", async () => {
    const at = lab();
    const signals = join(at.folder, "signals");
    const caught = ["INT", "TERM", "CONT", "HUP"].map((name) => `trap 'echo ${name} >>"${signals}"' ${name}`);
    const record = await at.sh(`${caught.join("; ")}; echo ready; while :; do sleep 0.1; done`);
    await until(() => text(record.log) !== "");
    // A copy of the workspace, as after a reboot or in another container; the run itself goes on in the first one.
    const root = join(folder(), ".agent-workspace");
    cpSync(at.root, root, { recursive: true });
    const edit = (name: string, from: RegExp, to: string): void => {
      const path = join(root, record.task, "runs", record.agent, "1", name);
      writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
    };
    for (const name of ["intent.json", "start.json"]) edit(name, pattern, replacement);
    // Whoever has this run's nonce would be its keeper, wherever the facts say that it lived.
    for (const name of ["intent.json", "claim"]) edit(name, /"nonce":"[^"]+"/, `"nonce":"${"0".repeat(32)}"`);
    for (const name of globSync("midwatch.db*", { cwd: root })) rmSync(join(root, name));
    takeOverWorkspace(root);
    using workspace = openWorkspace({ workspace: root });
    const look = async (): Promise<unknown[]> =>
      (await workspace.runs.list()).map(({ agent, phase }) => [agent, phase]);
    expect(await look()).toEqual([[record.agent, "lost"]]);
    if (what === "boot") {
      edit("claim", /"start_ticks":\d+/, '"start_ticks":1');
      // Nothing outlives its boot: that is proof enough.
      const [report] = await workspace.runs.stop([record.agent], { graceMs: 0 });
      expect(report).toMatchObject({ verified: true, processes: [], exit: { code: null, signal: null } });
      expect(await look()).toEqual([[record.agent, "drained"]]);
    } else {
      expect((await workspace.runs.show(record.agent)).alive).toBeNull();
      await expect(workspace.runs.restart(record.agent)).rejects.toMatchObject({ code: "REFUSED_ALIVE" });
      const [report] = await workspace.runs.stop([record.agent], { graceMs: 0 });
      expect(report).toMatchObject({ verified: false, left: [{ why: expect.stringContaining("pid namespace") }] });
      expect(await look()).toEqual([[record.agent, "lost"]]);
    }
    expect(text(signals)).toBe("");
    expect(lives(keeperOf(at, record))).toBe(true);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "running", outcome: null });
  });
});
