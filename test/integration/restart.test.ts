import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkIndex } from "../support/data/index-check.ts";
import { lab } from "../support/lab.ts";
import { type Lab, text } from "../support/workspace.ts";

const archived = (at: Lab, task: string, name: string): string => join(at.root, task, "archive", name);

describe("a restart", () => {
  it("R-000.13: bounds the logs of earlier runs: the oldest go to the trash, and come back; the facts and the last one stay", async () => {
    const at = lab({ runs_kept: 2 });
    const { agent, task } = await at.sh("date; echo e >&2");
    for (let run = 2; run <= 5; run++) {
      await at.workspace.runs.wait([agent]);
      if (run === 4) await at.workspace.files.archive(agent);
      await at.workspace.runs.restart(agent);
    }
    await at.workspace.runs.wait([agent]);
    const there = (): string[] =>
      readdirSync(join(at.root, task, "archive")).filter((name) => name.includes("_stream.") && !name.endsWith(".idx"));
    expect(there()).toEqual([`${agent}_stream.3.jsonl.zst`, `${agent}_stream.4.jsonl`]);
    expect((await at.workspace.runs.show(agent)).runs.map(({ run }) => run)).toEqual([1, 2, 3, 4, 5]);
    const events = readFileSync(join(at.root, "events.log"), "utf8").split("\n");
    expect(events.filter((line) => line.includes('"prune.trashed"')).map((line) => JSON.parse(line).data.runs)).toEqual(
      [[1], [2]],
    );

    const small = at.open({ config: { runs_kept: "off", runs_kept_size: 1 } });
    await small.runs.restart(agent);
    await at.workspace.runs.wait([agent]);
    expect(there()).toEqual([`${agent}_stream.5.jsonl`]);
    for (let i = 0; i < 3; i++)
      expect(await at.workspace.files.undoPrune(agent)).toMatchObject([{ action: "restored", errors: [] }]);
    expect(there().map((name) => name.split(".")[1])).toEqual(["1", "2", "3", "4", "5"]);
    expect((await at.raw(agent, { run: 1 })).length).toBeGreaterThan(0);
    expect((await at.workspace.runs.show(agent)).runs.map(({ run }) => run)).toEqual([1, 2, 3, 4, 5, 6]);

    at.workspace.files.pin(agent);
    await small.runs.restart(agent);
    await at.workspace.runs.wait([agent]);
    expect(there()).toHaveLength(6);
  });

  it("R-000.38, R-000.52, R-000.9: moves the former run's files, begins with a marker that is not part of --raw, and keeps the id", async () => {
    const at = lab();
    const count = join(at.folder, "count");
    const script = `echo x >>"${count}"; n=$(wc -l <"${count}"); echo "{\\"n\\":$n}"; echo "err $n" >&2; exit $n`;
    const { agent, task } = await at.sh(script);
    await at.workspace.runs.wait([agent]);
    for (const run of [2, 3]) {
      const record = await at.workspace.runs.restart(agent);
      expect(record).toMatchObject({ agent, task, run, phase: "running" });
      await at.workspace.runs.wait([agent]);
      const log = readFileSync(record.log);
      const [marker, line] = log.toString().split("\n");
      expect(JSON.parse(marker ?? "")).toEqual({
        type: "lifecycle",
        event: "agent_restart",
        agent_id: agent,
        run,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      });
      expect(line).toBe(`{"n":${run}}`);
      expect((await at.raw(agent)).toString()).toBe(`{"n":${run}}\n`);
      expect(checkIndex(log, readFileSync(record.log.replace(".jsonl", ".idx")))).toEqual([]);
    }
    const records = [];
    for await (const record of at.workspace.logs.records(agent)) records.push(record);
    expect(records).toMatchObject([
      { seq: 1, offset: 0, type: "lifecycle", data: { event: "agent_restart", run: 3 } },
      { seq: 2, type: "stdout", data: { n: 3 } },
    ]);
    for (const run of [1, 2, 3]) {
      expect((await at.raw(agent, { run })).toString()).toBe(`{"n":${run}}\n`);
      expect((await at.raw(agent, { run, stderr: true })).toString()).toBe(`err ${run}\n`);
    }
    for (const run of [1, 2]) {
      const log = readFileSync(archived(at, task, `${agent}_stream.${run}.jsonl`));
      expect(checkIndex(log, readFileSync(archived(at, task, `${agent}_stream.${run}.idx`)))).toEqual([]);
      expect(text(archived(at, task, `${agent}_stderr.${run}.log`))).toBe(`err ${run}\n`);
    }
    const shown = await at.workspace.runs.show(agent);
    expect(
      shown.runs.map(({ run, outcome, exit, bytes, log }) => ({
        run,
        outcome,
        code: exit.code,
        bytes,
        there: existsSync(log),
      })),
    ).toEqual([
      { run: 1, outcome: "failed", code: 1, bytes: 8, there: true },
      { run: 2, outcome: "failed", code: 2, bytes: expect.any(Number), there: true },
      { run: 3, outcome: "failed", code: 3, bytes: expect.any(Number), there: true },
    ]);
    expect(new Set(shown.runs.map(({ log }) => log)).size).toBe(3);
    expect((await at.cli("logs", "--raw", "--run", "2", agent)).stdout).toBe('{"n":2}\n');
    const missing = await at.cli("logs", "--json", "--run", "9", agent);
    expect([missing.code, JSON.parse(missing.stderr).error.code]).toEqual([3, "NOT_FOUND_RUN"]);
  });

  it("R-000.9: never overwrites what lies in the archive", async () => {
    const at = lab();
    const { agent, task } = await at.sh("echo mine");
    await at.workspace.runs.wait([agent]);
    const again = await at.workspace.runs.restart(agent);
    await at.workspace.runs.wait([agent]);
    const stranger = archived(at, task, `${agent}_stream.2.jsonl`);
    writeFileSync(stranger, "somebody's\n");
    await expect(at.workspace.runs.restart(agent)).rejects.toThrow(/exists already/);
    expect(text(stranger)).toBe("somebody's\n");
    expect((await at.raw(agent)).toString()).toBe("mine\n");
    expect(await at.workspace.runs.show(agent)).toMatchObject({
      run: again.run,
      phase: "drained",
      outcome: "completed",
    });
  });

  it("of an agent that lives is refused", async () => {
    const at = lab();
    const { agent } = await at.sh("exec sleep 300");
    const { code, stdout, stderr } = await at.cli("restart", "--json", agent);
    expect([code, stdout]).toEqual([4, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "REFUSED_ALIVE", hint: expect.stringContaining("stop") });
  });

  it("R-004.7: asked for by four processes at once: one wins, the others are refused, nothing is lost", async () => {
    const at = lab();
    const { agent } = await at.sh(`echo one; until [ -e "${at.folder}/go-$MIDWATCH_RUN" ]; do sleep 0.02; done`);
    const end = async (run: number): Promise<void> => {
      writeFileSync(join(at.folder, `go-${run}`), "");
      await at.workspace.runs.wait([agent]);
    };
    await end(1);
    for (let run = 2; run < 5; run++) {
      const tries = await Promise.all(Array.from({ length: 4 }, () => at.cli("restart", "--json", agent)));
      expect(tries.map(({ code }) => code).sort()).toEqual([0, 4, 4, 4]);
      const won = tries.find(({ code }) => code === 0);
      expect(JSON.parse(won?.stdout ?? "{}")).toMatchObject({ run, phase: "running" });
      for (const { code, stderr } of tries) if (code === 4) expect(JSON.parse(stderr).error.code).toBe("REFUSED_ALIVE");
      await end(run);
      for (let n = 1; n <= run; n++) expect((await at.raw(agent, { run: n })).toString()).toBe("one\n");
    }
  });
});
