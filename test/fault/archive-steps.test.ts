import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TaskId } from "../../src/core/ids.ts";
import type { ArchiveStep } from "../../src/workspace/context.ts";
import { lab } from "../support/lab.ts";
import { ended, supportFile, until } from "../support/workspace.ts";

type Verb = "archive" | "restore";
/** In their order, first for the log and then for stderr, which has no index. */
const STEPS: readonly [Verb, readonly (readonly [ArchiveStep, nth: number])[]][] = [
  [
    "archive",
    [
      ["checked", 1],
      ["index moved", 1],
      ...(["packed", "compared", "placed", "removed"] as const).flatMap((step) => [
        [step, 1] as const,
        [step, 2] as const,
      ]),
      ["remembered", 1],
    ],
  ],
  [
    "restore",
    [
      ...(["unpacked", "placed", "index moved", "removed"] as const).flatMap((step) => [
        [step, 1] as const,
        [step, 2] as const,
      ]),
      ["remembered", 1],
    ],
  ],
];

it.each(STEPS)(
  "R-000.27, R-004.1: %s killed -9 at each of its steps: the log is whole, the next call finishes the work",
  async (verb, steps) => {
    const at = lab();
    const { agent, task, log } = await at.sh('seq -f "line %.0f of some length" 100000; seq 1 50000 >&2; printf torn');
    await at.workspace.runs.wait([agent]);
    const wanted = [await at.raw(agent), await at.raw(agent, { stderr: true })];
    const printed = async (): Promise<boolean[]> => [
      (await at.raw(agent)).equals(wanted[0] as Buffer),
      (await at.raw(agent, { stderr: true })).equals(wanted[1] as Buffer),
    ];
    const archived = (): string[] => readdirSync(join(at.root, task, "archive")).sort();
    const names = { archive: ["_stderr.1.log.zst", "_stream.1.idx", "_stream.1.jsonl.zst"], restore: [] };
    const over = async (done: Verb): Promise<void> => {
      expect(await printed(), done).toEqual([true, true]);
      expect(archived(), done).toEqual(names[done].map((name) => agent + name));
      expect(existsSync(log)).toBe(done === "restore");
      expect(readdirSync(join(log, "..")).filter((name) => name.endsWith(".part"))).toEqual([]);
      expect(await at.workspace.logs.verify(agent), done).toMatchObject({ ok: true, index: "ok", partial: true });
      expect((await at.workspace.runs.show(agent)).phase).toBe(done === "archive" ? "archived" : "drained");
    };
    for (const [step, nth] of steps) {
      if (verb === "restore") await at.workspace.files.archive(agent);
      const { signal, stderr } = await ended(
        at.node(supportFile("worker/archive-at.ts"), at.root, verb, agent, step, String(nth)),
      );
      expect(signal, `${step} ${nth}: ${stderr}`).toBe("SIGKILL");
      expect(await printed(), `killed at ${step} ${nth}`).toEqual([true, true]);
      const { files } = await at.workspace.files[verb](agent);
      expect(
        files.map(({ action }) => action),
        `after ${step} ${nth}`,
      ).not.toContain("failed");
      await over(verb);
      if (verb === "archive") {
        await at.workspace.files.restore(agent);
        await over("restore");
      }
    }
  },
);

it("R-002.3, R-004.1, R-004.6: a kill that is itself killed -9 behind each file that it moved: nothing is lost, and the next one tells of all", async () => {
  const at = lab();
  for (let nth = 1; nth <= 5; nth++) {
    const { agent, task } = await at.sh("seq 1000; seq 500 >&2; exec sleep 300");
    at.workspace.mail.progress(agent, "working", "half of it");
    at.workspace.mail.finding(agent, "bug", "low", "a small one");
    await until(async () => (await at.raw(agent)).toString().endsWith("\n1000\n"));
    await until(async () => (await at.raw(agent, { stderr: true })).toString().endsWith("\n500\n"));
    const { signal, stderr } = await ended(
      at.node(supportFile("worker/archive-at.ts"), at.root, "stow", agent, "stowed", String(nth)),
    );
    expect(signal, `${nth}: ${stderr}`).toBe("SIGKILL");
    const whole = async (): Promise<void> => {
      expect((await at.raw(agent)).toString().split("\n")).toHaveLength(1001);
      expect((await at.raw(agent, { stderr: true })).toString().split("\n")).toHaveLength(501);
      expect(at.workspace.mail.reports(task as TaskId, 5)).toMatchObject({
        progress: expect.arrayContaining([expect.objectContaining({ agent_id: agent })]),
        findings: expect.arrayContaining([expect.objectContaining({ agent_id: agent })]),
      });
    };
    await whole();
    const [report] = await at.workspace.runs.stop([agent], { files: "archive" });
    await whole();
    const archived = report?.files.filter(({ action }) => action === "archived") ?? [];
    expect([report?.outcome, archived.length]).toEqual(["stopped", 5]);
    // What the killed one had deleted is missing for the next: that it was there nobody wrote down.
    const gone = report?.files
      .filter(({ action }) => action === "deleted" || action === "missing")
      .map(({ path }) => path);
    expect(gone).toContainEqual(expect.stringContaining("/deploy_"));
    expect(report?.files.filter(({ error }) => error !== null)).toEqual([]);
  }
});
