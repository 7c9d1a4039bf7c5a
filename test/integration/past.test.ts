/**
 * What earlier releases left behind. test/past holds each release as it was packed, a project that it made, and what it told of it
 * (test/past/make.mjs). Whatever changes, that project opens and says the same.
 */
import { execFileSync } from "node:child_process";
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ListRecord, Report } from "../../src/core/types.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { until } from "../support/workspace.ts";

const PAST = join(import.meta.dirname, "../past");
const VERSIONS = readdirSync(PAST).flatMap((name) => /^midwatch-(.+)\.tgz$/.exec(name)?.[1] ?? []);

type Line = Record<string, unknown>;
type Told = {
  tasks: Line[];
  ls: (Line & { agent: string })[];
  show: Record<string, Line>;
  logs: Record<string, Line[]>;
  events: (Line & { seq: number })[];
};

const lines = <T = Line>(text: string): T[] => {
  const whole = text.split("\n").filter(Boolean);
  return whole.map((line) => JSON.parse(line) as T);
};

function unpack(file: string): string {
  const at = folder();
  execFileSync("tar", ["-xzf", join(PAST, file), "-C", at]);
  return at;
}

/** The project as the release left it. What runs there is told the new place; all else stays as it was. */
function opened(version: string) {
  const cwd = join(unpack(`project-${version}.tar.gz`), "project");
  for (const intent of globSync(join(cwd, ".agent-workspace/TASK-*/runs/*/*/intent.json")))
    writeFileSync(intent, readFileSync(intent, "utf8").replace(MADE_IN, cwd));
  const ask = async <T = Line>(...argv: string[]): Promise<T[]> => {
    const { code, stdout, stderr } = await midwatch(cwd, [...argv, "--json"]);
    expect(code, stderr).toBe(0);
    return lines<T>(stdout);
  };
  const settled = async (): Promise<ListRecord[]> => {
    let now: ListRecord[] = [];
    const isSettled = async () => {
      now = await ask<ListRecord>("ls", "--all");
      return now.every(({ phase }) => phase !== "lost");
    };
    await until(isSettled, 30_000, "keepers have looked after what was lost");
    return now;
  };
  const takeOver = async (): Promise<void> => {
    const { code, stdout, stderr } = await midwatch(cwd, ["trust", "--workspace"]);
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining("yours from now on")]);
  };
  return { cwd, ask, settled, takeOver };
}

/** Where the release made it. */
const MADE_IN = /\/[^" ]*midwatch-past-\w+\/(copy\/)?project/g;

/** Without the folder that it was made in, and the one that it is in now. */
function placeless<T>(value: T, cwd: string): T {
  const text = JSON.stringify(value).replaceAll(cwd, "PROJECT");
  return JSON.parse(text.replace(MADE_IN, "PROJECT")) as T;
}

/** When a run that nobody saw the end of was found ended, and what was written then. */
const FOUND_NOW = new Set(["ended_at", "files", "cleanup_failures"]);

function withoutFoundNow(told: Line): Line {
  const entries = Object.entries(told).filter(([name]) => told["outcome"] !== "lost" || !FOUND_NOW.has(name));
  const kept = Object.fromEntries(entries);
  if (Array.isArray(kept["runs"])) kept["runs"] = (kept["runs"] as Line[]).map(withoutFoundNow);
  // Unpacking made the files anew, and some hold the place.
  if (Array.isArray(kept["files"])) kept["files"] = (kept["files"] as Line[]).map(({ path, kind }) => ({ path, kind }));
  return kept;
}

describe.each(VERSIONS)("a project of %s", (version) => {
  const told = JSON.parse(readFileSync(join(PAST, `told-${version}.json`), "utf8")) as Told;

  it("opens, and ls, tasks and show say what that release said", async () => {
    const { cwd, ask, settled, takeOver } = opened(version);
    await takeOver();
    const ls = placeless(await settled(), cwd);
    expect(ls.map(({ agent }) => agent)).toEqual(told.ls.map(({ agent }) => agent));
    expect(ls).toMatchObject(placeless(told.ls, cwd).map(withoutFoundNow));
    expect(placeless(await ask("tasks"), cwd)).toMatchObject(placeless(told.tasks, cwd));
    for (const [agent, shown] of Object.entries(told.show)) {
      const [now] = placeless(await ask("show", agent), cwd);
      expect(now, agent).toMatchObject(withoutFoundNow(placeless(shown, cwd)));
    }
  });

  it("keeps every log and every event, and the registry can be made anew from the folders", async () => {
    const { cwd, ask, settled, takeOver } = opened(version);
    await takeOver();
    const workspace = join(cwd, ".agent-workspace");
    const { size } = statSync(join(workspace, "events.log"));
    execFileSync("sh", ["-c", 'rm -f "$1"/midwatch.db*', "sh", workspace]);
    for (const [agent, records] of Object.entries(told.logs))
      expect(placeless(await ask("logs", agent, "-n", "20"), cwd), agent).toMatchObject(placeless(records, cwd));
    const kept = told.events.filter(({ seq }) => seq < size);
    expect(kept.length).toBeGreaterThan(10);
    expect((await ask("events")).slice(0, kept.length)).toEqual(kept);
    const phases = told.ls.map(({ agent, phase }) => ({ agent, phase }));
    expect(await settled()).toMatchObject(phases);
  });

  it("goes on: what was queued starts, what ended starts again, what is archived comes back", async () => {
    const { cwd, ask, takeOver } = opened(version);
    const id = (name: string): string => told.ls.find(({ agent }) => agent.startsWith(name))?.agent ?? name;
    const refused = await midwatch(cwd, ["stop", id("queued")]);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("midwatch trust --workspace")]);
    expect(await ask("show", id("queued"))).toMatchObject([{ queued: true }]);
    await takeOver();
    const [queued] = await ask<ListRecord>("wait", id("queued"));
    expect(queued).toMatchObject({ outcome: "completed", run: 1 });
    expect(await ask("logs", id("queued"))).toMatchObject([{ text: "my turn" }]);

    await ask("restart", id("twice"));
    expect(await ask("wait", id("twice"))).toMatchObject([{ outcome: "completed", run: 3 }]);
    await ask("restore", id("packed"));
    expect(await ask("logs", id("packed"), "-n", "1")).toMatchObject([{ data: 20000 }]);
    expect((await midwatch(cwd, ["verify", id("failed")])).code).toBe(0);
    await ask("event", "9", "Agent C", "note", "after the move");
    expect((await ask("events")).at(-1)).toMatchObject({ content: "after the move" });
    expect((await midwatch(cwd, ["snapshot"])).code).toBe(0);
  });
});

describe.each(VERSIONS)("agents that %s runs", (version) => {
  it("are seen, spoken to and stopped with proof by this version", async () => {
    const program = join(unpack(`midwatch-${version}.tgz`), "package/dist/midwatch.js");
    const cwd = folder();
    const env = { ...process.env, MIDWATCH_COMPANION: "" }; // It knows no such name.
    const before = (...argv: string[]): string =>
      execFileSync(process.execPath, [program, ...argv], { cwd, env, encoding: "utf8", timeout: patient(60_000) });
    const start = (...argv: string[]): ListRecord => JSON.parse(before("run", "--json", ...argv)) as ListRecord;
    const talks = start("--name", "talks", "--interactive", "--", "cat").agent;
    const family = start("--name", "family", "--", "sh", "-c", "echo up; sleep 600 & sleep 600 & wait").agent;
    const now = async (...argv: string[]) => await midwatch(cwd, argv);
    onTestFinished(async () => void (await now("stop", talks, family, "--grace", "0")));

    const { stdout } = await now("ls", "--json");
    expect(lines(stdout).map(({ agent, phase }) => [agent, phase])).toEqual([
      [family, "running"],
      [talks, "running"],
    ]);
    // Until its person says so, what an older release made is only read.
    expect((await now("stop", talks)).code).toBe(4);
    const { stdout: listed } = await now("trust", "--workspace");
    for (const agent of [talks, family]) expect(listed).toContain(agent);
    expect((await now("send", "--wait", talks, "hello")).code).toBe(0);
    await until(async () => (await now("logs", talks)).stdout === "hello\n", 20_000, "the message comes back");
    const stopped = await now("stop", talks, family, "--json");
    expect(stopped.code, stopped.stderr).toBe(0);
    const reports = lines<Report>(stopped.stdout);
    expect(reports).toMatchObject([
      { agent: talks, verified: true, left: [] },
      { agent: family, verified: true, left: [] },
    ]);
    expect(reports[1]?.processes_total).toBe(3);
  });
});
