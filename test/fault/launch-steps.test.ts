import { once } from "node:events";
import { existsSync, globSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentId } from "../../src/core/ids.ts";
import type { ClaimFact } from "../../src/core/types.ts";
import { readJson } from "../../src/disk/replace.ts";
import { signal } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { expectSettled, lookLater } from "../support/settled.ts";
import { STEPS, standing } from "../support/standing.ts";
import { type Lab, text, until } from "../support/workspace.ts";

const agentThatTells = (at: Lab): string[] => ["run", "sh", "-c", `echo ran >>"${at.folder}/ran"; exec sleep 300`];
const ran = (at: Lab): number => text(join(at.folder, "ran")).split("\n").length - 1;

const phases = async (at: Lab): Promise<string[]> =>
  (await at.open().runs.list({ all: true })).map(({ phase }) => phase);

describe.each(STEPS)("a launcher that stands still at %s", (step) => {
  const started = step === "answered";

  it("others see a true state; a stop works, and nothing runs when the launcher goes on", async () => {
    const at = lab();
    const launcher = await standing(at, step, ...agentThatTells(at));
    const [seen] = await at.workspace.runs.list();
    expect(seen?.phase).toBe(started ? "running" : "intended");
    if (started) await until(() => ran(at) === 1);
    const [report] = await at.open().runs.stop([seen?.agent], { graceMs: 100 });
    expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped", already_stopped: false });
    expect(await launcher.go()).toMatchObject({ phase: started ? "running" : "launch_failed" });
    expect(await phases(at)).toEqual([started ? "drained" : "launch_failed"]);
    expect((await at.workspace.runs.show(seen?.agent)).outcome).toBe("stopped");
    expect(ran(at)).toBe(started ? 1 : 0);
    await expectSettled(at);
  });

  it("is given up when its time is over, and then nothing runs when it goes on", async () => {
    const at = lab();
    const launcher = await standing(at, step, ...agentThatTells(at));
    await lookLater(at);
    const early = step === "reserved" || step === "folders" || step === "active";
    expect(await phases(at)).toEqual(early ? [] : [started ? "running" : "launch_failed"]);
    expect(await launcher.go()).toMatchObject({ phase: started ? "running" : "launch_failed" });
    expect(await phases(at)).toEqual([started ? "running" : "launch_failed"]);
    if (started) await until(() => ran(at) === 1);
    else expect(ran(at)).toBe(0);
    if (started) await at.workspace.runs.stop(["a"], { graceMs: 0 });
    await expectSettled(at);
  });

  it("R-004.11: and is killed -9: nothing runs untracked, and the next look settles it", async () => {
    const at = lab();
    const { child } = await standing(at, step, ...agentThatTells(at));
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    expect(await phases(at)).toEqual([started ? "running" : "intended"]);
    await lookLater(at);
    if (started) {
      await until(() => ran(at) === 1);
      expect(await at.workspace.runs.show("a")).toMatchObject({ phase: "running", alive: null });
      await at.workspace.runs.stop(["a"], { graceMs: 0 });
    } else {
      expect(await phases(at)).toEqual(step === "intent" ? ["launch_failed"] : []);
      expect(ran(at)).toBe(0);
    }
    await expectSettled(at);
  });

  it("R-000.38: and is killed -9 in a restart: the former run's log is still read, and the next restart works", async () => {
    const at = lab();
    const { agent } = await at.workspace.runs.start({
      argv: ["sh", "-c", `echo ran >>"${at.folder}/ran"; cat "${at.folder}/ran"`],
    });
    await at.workspace.runs.wait([agent]);
    const { child } = await standing(at, step, "restart", agent);
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    await lookLater(at);
    const shown = await at.workspace.runs.show(agent);
    expect(shown.run).toBe(started || step === "intent" ? 2 : 1);
    expect((await at.raw(agent, { run: 1 })).toString()).toBe("ran\n");
    expect(existsSync(shown.runs[0]?.log ?? "")).toBe(true);
    await at.workspace.runs.wait([agent]);
    const again = await at.workspace.runs.restart(agent);
    const [over] = await at.workspace.runs.wait([agent]);
    expect(over).toMatchObject({ run: again.run, outcome: "completed" });
    expect((await at.raw(agent, { run: 1 })).toString()).toBe("ran\n");
    expect((await at.raw(agent)).toString()).toBe("ran\n".repeat(started ? 3 : 2));
    await expectSettled(at);
  });
});

it("R-000.38: who follows through restarts gets each run's own lines, also behind a number that was given up", async () => {
  const at = lab();
  const { agent } = await at.workspace.runs.start({ argv: ["sh", "-c", 'echo "run $MIDWATCH_RUN"'] });
  await at.workspace.runs.wait([agent]);
  const ending = new AbortController();
  const seen: string[] = [];
  const done = (async () => {
    for await (const { run, raw } of at.workspace.logs.read(agent, { forever: true, signal: ending.signal }))
      if (raw.bytes.toString().startsWith("run")) seen.push(`${run}: ${raw.bytes}`);
  })();
  await until(() => seen.length === 1);
  const { child } = await standing(at, "folders", "restart", agent);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  await lookLater(at);
  expect(await at.workspace.runs.restart(agent)).toMatchObject({ run: 3 });
  await at.workspace.runs.wait([agent]);
  await until(() => seen.length > 1);
  ending.abort();
  await done;
  expect(seen).toEqual(["1: run 1", "3: run 3"]);
  await expectSettled(at);
});

it("a keeper that died in the middle of its claim has started nothing: the run is given up, or stopped", async () => {
  const at = lab();
  for (const end of ["given up", "stopped"]) {
    const { child } = await standing(at, "intent", ...agentThatTells(at));
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    const [seen] = await at.workspace.runs.list();
    const name = { task: seen?.task ?? "", agent: seen?.agent as AgentId, run: 1 };
    writeFileSync(join(at.runDir(name), "claim"), '{"by":"kee');
    expect((await at.workspace.runs.show(seen?.agent)).phase).toBe("intended");
    if (end === "given up") await lookLater(at);
    else expect(await at.workspace.runs.stop([seen?.agent])).toMatchObject([{ verified: true, outcome: "stopped" }]);
    expect(await at.workspace.runs.show(seen?.agent)).toMatchObject({ phase: "launch_failed" });
  }
  expect(ran(at)).toBe(0);
  await expectSettled(at);
});

it("others see launching while the keeper has claimed and not started; a stop works all the same", async () => {
  for (let round = 0; ; round++) {
    const at = lab();
    const starting = at.workspace.runs.start({ argv: agentThatTells(at).slice(1) });
    await new Promise(setImmediate);
    // Its part in this process is done; the keeper claims and starts while we look without a pause.
    let claim: ClaimFact | undefined;
    for (const end = performance.now() + patient(5000); !claim && performance.now() < end; ) {
      const path = globSync("TASK-*/runs/*/1/claim", { cwd: at.root })[0] ?? "";
      claim = readJson<ClaimFact>(join(at.root, path)).value;
    }
    signal(claim as ClaimFact, "SIGSTOP");
    const [seen] = await at.workspace.runs.list();
    if (seen?.phase !== "launching" && round < 20) {
      signal(claim as ClaimFact, "SIGCONT"); // It was faster.
      await starting;
      continue;
    }
    expect(seen?.phase).toBe("launching");
    expect(await at.cli("show", "--json", seen?.agent ?? "")).toMatchObject({ code: 0 });
    const [report] = await at.open().runs.stop([seen?.agent], { graceMs: 100 });
    expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    await starting;
    await expectSettled(at);
    return;
  }
});
