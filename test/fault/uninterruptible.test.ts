import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { Report } from "../../src/core/types.ts";
import { readProcess } from "../../src/process/identity.ts";
import { frozenDisk } from "../support/fault/frozen-disk.ts";
import { lab } from "../support/lab.ts";
import { text, until } from "../support/workspace.ts";

it.for(["auto", "subreaper"] as Tier[])(
  "R-004.2, R-004.18: what not even SIGKILL ends is reported as left and no file is touched; once it can end, a stop is verified (tier %s)",
  async (tier, { skip }) => {
    const disk = frozenDisk();
    if (disk === undefined) {
      console.warn("SKIPPED: uninterruptible: no ext4 on a loop device can be mounted and frozen here.");
      return skip();
    }
    const at = lab({ tier });
    disk.freeze();
    const writer = `sh -c 'echo x >"${disk.path}/f"' & echo $!; wait`;
    const record = await at.workspace.runs.start({ argv: ["sh", "-c", writer], prompt: "write" });
    const prompt = `${at.root}/${record.task}/agent_prompt_${record.agent}.txt`;
    await until(() => text(record.log) !== "");
    const pid = Number(text(record.log));
    await until(() => readProcess(pid)?.state === "D", 10_000, "it sleeps uninterruptibly");

    const { code, stdout } = await at.cli("stop", "--grace", "200ms", "--json", record.agent);
    expect(code).toBe(1);
    expect(JSON.parse(stdout) as Report).toMatchObject({ verified: false, files: [], freed_bytes: 0 });
    expect((JSON.parse(stdout) as Report).left).toEqual([{ pid, name: "sh", uid: 0, why: "uninterruptible" }]);
    expect((await at.workspace.runs.show(record.agent)).phase).toBe("stuck");
    await expect(at.workspace.files.archive(record.agent)).rejects.toMatchObject({ code: "REFUSED_ALIVE" });
    await expect(at.workspace.runs.restart(record.agent)).rejects.toMatchObject({ code: "REFUSED_ALIVE" });
    expect([record.log, prompt].map((path) => existsSync(path))).toEqual([true, true]);
    expect(at.fact(record, "done.json")).toBeUndefined();

    disk.thaw();
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 200 });
    expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped", guarantee: record.guarantee });
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "drained", outcome: "stopped" });
    expect([existsSync(record.log), existsSync(prompt), at.survivors()]).toEqual([true, false, []]);
  },
);
