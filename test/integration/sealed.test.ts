import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CleanupFact } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import { type Lab, text } from "../support/workspace.ts";

async function over(at: Lab, script = "echo done"): Promise<RunRecord> {
  const record = await at.sh(script);
  await at.workspace.runs.wait([record.agent]);
  return record;
}

/** What `du` counts. */
function used(folder: string): number {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return [folder, ...paths].reduce((sum, path) => sum + lstatSync(path).blocks * 512, 0);
}

describe("a run that has ended", () => {
  it.each(["ls", "up --once"])("leaves at most 7 files and 48 KB: one line printed, then `%s`", async (look) => {
    const at = lab();
    const { stdout } = await at.cli("run", "--json", "--", "echo", "done");
    const { agent, task } = JSON.parse(stdout.split("\n")[0] ?? "") as RunRecord;
    await at.cli("wait", agent);
    await at.cli(...look.split(" "));
    const folder = join(at.root, task);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.length, files.map(({ name }) => name).join(" ")).toBeLessThanOrEqual(7);
    expect(used(folder)).toBeLessThanOrEqual(48 * 1024);
    expect(readdirSync(join(folder, "runs", agent))).toEqual(["1.json"]);
    expect([readdirSync(join(at.root, "active")), readdirSync(join(at.root, "locks"))]).toEqual([[], []]);
  });

  it("is read, archived, restored, restarted and stopped again from its one file", async () => {
    const at = lab();
    const record = await over(at, "echo one; exit 3");
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({
      outcome: "failed",
      exit: { code: 3 },
      bytes: 4,
    });
    const cleanup = (): CleanupFact | undefined => at.fact<CleanupFact>(record, "cleanup.json");
    await at.workspace.files.archive(record.agent);
    expect(cleanup()).toMatchObject({ archived_at: expect.any(String) });
    await at.workspace.files.restore(record.agent);
    expect(cleanup()).toMatchObject({ restored_at: expect.any(String) });
    const [first] = await at.workspace.runs.stop([record.agent]);
    const [second] = await at.workspace.runs.stop([record.agent]);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ verified: true, already_stopped: true, exit: { code: 3 } });
    await at.workspace.runs.restart(record.agent);
    await at.workspace.runs.wait([record.agent]);
    expect(readdirSync(dirname(at.runDir(record))).sort()).toEqual(["1.json", "2.json"]);
    at.workspace.rebuild();
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ run: 2, runs: [{ run: 1 }, { run: 2 }] });
    expect((await at.raw(record.agent, { run: 1 })).toString()).toBe("one\n");
  });

  it("keeps what is not ours: small text in the file, all else in the folder", async () => {
    const at = lab();
    const strange = 'cd "$MIDWATCH_WORKSPACE"/TASK-*/runs/"$MIDWATCH_AGENT"/1';
    const record = await over(at, `${strange} && echo note > note && head -c 70000 /dev/zero > large && ln -s / link`);
    expect(at.fact(record, "note")).toBe("note\n");
    expect(readdirSync(at.runDir(record)).sort()).toEqual(["large", "link"]);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ outcome: "completed" });
  });

  it("takes messages for its next run, which nothing takes away", async () => {
    const at = lab();
    const { agent, task } = await at.workspace.runs.start({ argv: ["cat"], interactive: true, prompt: "hello" });
    await at.workspace.mail.close(agent);
    await at.workspace.runs.wait([agent]);
    expect(readdirSync(at.runDir({ task, agent, run: 1 }))).toEqual(["messages.jsonl"]);
    await at.workspace.runs.reap();
    const { stdout } = await at.cli("messages", "--json", agent);
    expect(JSON.parse(stdout)).toMatchObject({ text: "hello", state: "consumed" });
  });

  it("of a release that did not seal is sealed by reap and by the loop, and says the same before and after", async () => {
    const at = lab();
    const records = [await over(at), await over(at)] as const;
    for (const record of records) at.unseal(record);
    const said = async (): Promise<unknown[]> =>
      (await at.workspace.runs.list({ all: true })).map(({ agent, phase, outcome, exit }) => [
        agent,
        phase,
        outcome,
        exit,
      ]);
    const before = await said();
    await at.workspace.up.loop().round();
    for (const record of records)
      expect([existsSync(at.sealed(record)), existsSync(at.runDir(record))]).toEqual([true, false]);
    at.unseal(records[0]);
    await at.workspace.runs.reap();
    expect(existsSync(at.runDir(records[0]))).toBe(false);
    expect(await said()).toEqual(before);
  });

  it("whose file is damaged is that run alone: the others are listed, read and stopped, and its number is not used again", async () => {
    const at = lab();
    const [bad, good] = [await over(at), await over(at)];
    const deep = `{"v":1,"facts":${'{"a":'.repeat(200)}1${"}".repeat(201)}}`;
    for (const damage of ["", '{"v":1,"fac', deep, '{"v":1,"facts":{}}', "[]", '{"v":1,"facts":[]}', "null"]) {
      writeFileSync(at.sealed(bad), damage);
      const listed = await at.workspace.runs.list({ all: true });
      expect(listed.map(({ agent }) => agent).sort()).toEqual([bad.agent, good.agent].sort());
      expect(await at.workspace.runs.show(good.agent)).toMatchObject({ outcome: "completed" });
      expect(await at.workspace.runs.stop([bad.agent])).toMatchObject([{ verified: false }]);
      expect(text(at.sealed(bad))).toBe(damage);
      const reason = expect.stringMatching(/^damaged: /);
      expect(await at.workspace.runs.show(bad.agent)).toMatchObject({ outcome: "lost", reason });
      await at.workspace.up.loop().round();
      at.workspace.rebuild();
    }
    expect((await at.raw(bad.agent)).toString()).toBe("done\n");
    const { code, stdout } = await at.cli("verify", bad.agent);
    expect([code, stdout]).toEqual([1, expect.stringContaining("damaged: 1.json cannot be read")]);
    expect((await at.cli("verify", good.agent)).code).toBe(0);
  });
});
