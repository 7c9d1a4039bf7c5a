import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { parseAgentId } from "../../src/core/ids.ts";
import type { TaskFact } from "../../src/core/intent.ts";
import type { ListRecord, ShowRecord } from "../../src/core/types.ts";
import { openWorkspace, type Workspace } from "../../src/fleet/workspace.ts";
import { Registry } from "../../src/registry/registry.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { type Lab, supportFile, text, until } from "../support/workspace.ts";

const database = (at: Lab): string => join(at.root, "midwatch.db");
const folders = (at: Lab): string[] => readdirSync(at.root).filter((name) => name.startsWith("TASK-"));

describe("a process stands still inside a write transaction", () => {
  async function held(at: Lab): Promise<ChildProcess> {
    const holder = at.node(supportFile("worker/registry-worker.ts"), "hold", database(at));
    await once(holder, "message");
    holder.kill("SIGSTOP");
    return holder;
  }
  const timed = async <T>(act: Promise<T>): Promise<T> => {
    const begun = performance.now();
    const result = await act;
    expect(performance.now() - begun).toBeLessThan(patient(10_000)); // The holder stands still for good: whoever waits for it never comes back.
    return result;
  };

  it("R-004.7, R-004.18: stop, logs, show, ls and wait do their work; the rows catch up when it is gone", async () => {
    const at = lab();
    const stays = await at.sh("echo hello; exec sleep 300");
    const ends = await at.sh(`until [ -e "${at.folder}/go" ]; do sleep 0.05; done; exit 4`);
    await until(() => text(stays.log) !== "");
    const holder = await held(at);
    const other = at.open();
    expect(await timed(other.runs.list())).toMatchObject([{ phase: "running" }, { phase: "running" }]);
    expect((await timed(at.raw(stays.agent))).toString()).toBe("hello\n");
    writeFileSync(join(at.folder, "go"), "");
    expect(await timed(other.runs.wait([ends.agent]))).toMatchObject([{ phase: "drained", exit: { code: 4 } }]);
    const [report] = await timed(other.runs.stop([stays.agent], { graceMs: 100 }));
    expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [], already_stopped: false });
    expect(await timed(other.runs.show(stays.agent))).toMatchObject({ phase: "drained", outcome: "stopped" });
    const seen = await timed(other.runs.list());
    expect(seen.map(({ phase, outcome }) => [phase, outcome])).toEqual([
      ["drained", "failed"],
      ["drained", "stopped"],
    ]);
    expect(at.survivors()).toEqual([]);
    const row = (agent: string): unknown => {
      const registry = Registry.open(database(at), { readOnly: true });
      const { phase } = registry.get(parseAgentId(agent))?.run ?? {};
      registry.close();
      return phase;
    };
    expect(row(stays.agent)).toBe("running");
    const gone = once(holder, "exit");
    holder.kill("SIGKILL");
    await gone;
    expect(await at.open().runs.list()).toEqual(seen);
    expect([row(stays.agent), row(ends.agent)]).toEqual(["drained", "drained"]);
    expect(readdirSync(join(at.root, "active"))).toEqual([]);
  });

  it("R-004.8: run and task fail with REGISTRY_BUSY, name the holder, and leave nothing behind", async () => {
    const at = lab();
    const { agent } = await at.run("true");
    await at.workspace.runs.wait([agent]);
    const before = [await at.workspace.runs.list({ all: true }), at.workspace.runs.tasks(), folders(at)];
    const holder = await held(at);
    for (const command of [
      ["run", "--json", "--", "true"],
      ["task", "--json", "never made"],
    ]) {
      const { code, stdout, stderr } = await timed(at.cli(...command));
      expect([code, stdout]).toEqual([5, ""]);
      const { error } = JSON.parse(stderr);
      expect(error).toMatchObject({ code: "REGISTRY_BUSY", retryable: true, hint: expect.any(String) });
      expect(error.message).toContain(`process ${holder.pid} (`);
    }
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect([await at.workspace.runs.list({ all: true }), at.workspace.runs.tasks(), folders(at)]).toEqual(before);
    expect(readdirSync(join(at.root, "active"))).toEqual([]);
  });
});

interface Told {
  list: ListRecord[];
  tasks: TaskFact[];
  shown: ShowRecord[];
}

async function told(workspace: Workspace): Promise<Told> {
  const list = await workspace.runs.list({ all: true });
  const shown: ShowRecord[] = [];
  for (const { agent } of list) shown.push(await workspace.runs.show(agent));
  return { list, tasks: workspace.runs.tasks(), shown };
}

/** One agent in each state there is. */
async function everyState(at: Lab): Promise<void> {
  const { workspace } = at;
  const script = join(at.folder, "broken");
  writeFileSync(script, "#!/no/such/interpreter\n");
  chmodSync(script, 0o755);
  workspace.runs.makeTask("no agent works on it");
  const { task } = workspace.runs.makeTask("several do");
  const run = async (name: string, text_: string): Promise<string> => {
    const { agent } = await workspace.runs.start({ argv: ["sh", "-c", text_], name, task: task, prompt: `do ${name}` });
    return agent;
  };
  const completed = await run("completed", "echo fine");
  const failed = await run("failed", "echo broken >&2; exit 3");
  const signalled = await run("signalled", "kill -SEGV $$");
  await run("running", "echo on; exec sleep 300");
  const stopped = await run("stopped", "exec sleep 300");
  const purged = await run("purged", "echo much; exec sleep 300");
  const lost = await run("lost", "exec sleep 300");
  const gone = await run("gone", "read x </dev/zero");
  const child = await workspace.runs.start({
    argv: ["true"],
    name: "child",
    parent: parseAgentId(completed),
    role: "tester",
  });
  expect((await workspace.runs.start({ argv: [script], name: "unborn" })).phase).toBe("launch_failed");
  await workspace.runs.wait([completed, failed, signalled, child.agent]);
  for (let i = 0; i < 2; i++) {
    await workspace.runs.restart(failed);
    await workspace.runs.wait([failed]);
  }
  await workspace.runs.stop([stopped], { graceMs: 0 });
  await workspace.runs.stop([purged], { graceMs: 0, purge: true });
  await workspace.runs.restart(stopped);
  for (const agent of [lost, gone]) await kill9(keeperOf(at, { task, agent: parseAgentId(agent), run: 1 }));
  process.kill((await workspace.runs.show(gone)).runs[0]?.pid ?? 0, "SIGKILL");
  await workspace.runs.wait([gone], { timeoutMs: patient(10_000) });
}

it("a registry of a newer midwatch: run is refused, but ls, show, logs and stop do their work", async () => {
  const at = lab();
  const record = await at.sh("echo hello; exec sleep 300");
  await until(() => text(record.log) !== "");
  const db = new DatabaseSync(database(at));
  db.exec("UPDATE meta SET value = '99' WHERE key = 'schema_version'");
  db.close();
  const workspace = at.open();
  await expect(workspace.runs.start({ argv: ["true"] })).rejects.toMatchObject({ code: "REGISTRY_NEWER", exitCode: 5 });
  expect(await workspace.runs.list()).toMatchObject([{ agent: record.agent, phase: "running" }]);
  const [report] = await workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(report).toMatchObject({ verified: true, outcome: "stopped" });
  expect(await workspace.runs.show(record.agent)).toMatchObject({ phase: "drained", outcome: "stopped" });
});

describe("the registry is an index", () => {
  it("R-004.23: midwatch.db deleted: ls --all, tasks and show say the same, whoever asks", async () => {
    const at = lab();
    await everyState(at);
    const before = await told(at.workspace);
    expect(before.list.map(({ agent, phase, outcome }) => `${agent.split("-")[0]} ${phase} ${outcome}`).sort()).toEqual(
      [
        "child drained completed",
        "completed drained completed",
        "failed drained failed",
        "gone drained lost",
        "lost lost lost",
        "purged drained stopped",
        "running running null",
        "signalled drained failed",
        "stopped running null",
        "unborn launch_failed failed",
      ],
    );
    for (const suffixes of [["", "-wal", "-shm"], [""]]) {
      for (const suffix of suffixes) rmSync(database(at) + suffix);
      // A new process before and after the registry is made again, and one that had the old one open.
      using fresh = openWorkspace({ workspace: at.root });
      expect(await told(fresh)).toEqual(before);
      expect(await told(at.workspace)).toEqual(before);
      expect(statSync(database(at)).size).toBeGreaterThan(0);
      using again = openWorkspace({ workspace: at.root });
      expect(await told(again)).toEqual(before);
    }
    expect((await at.cli("doctor", "--rebuild")).code).toBe(0);
    expect(await told(at.workspace)).toEqual(before);
  });

  it.each([
    ["garbage in its place", (path: string) => writeFileSync(path, Buffer.alloc(50_000, "garbage"))],
    ["cut to one page", (path: string) => truncateSync(path, 4096)],
    ["cut to nothing", (path: string) => truncateSync(path, 0)],
    ["a page overwritten", (path: string) => writeFileSync(path, Buffer.alloc(5000, 7), { flag: "r+" })],
  ])("R-004.23: midwatch.db with %s is noticed and made again, also by a process that had it open", async (_, harm) => {
    const at = lab();
    const first = await at.run("true");
    const second = await at.sh("exec sleep 300");
    await at.workspace.runs.wait([first.agent]);
    const before = await told(at.workspace);
    harm(database(at));
    for (const workspace of [at.workspace, at.open()]) {
      expect(await told(workspace)).toEqual(before);
      const third = await workspace.runs.start({ argv: ["true"] });
      await workspace.runs.wait([third.agent]);
      expect((await workspace.runs.list({ all: true })).map(({ agent }) => agent)).toContain(third.agent);
      before.list = await workspace.runs.list({ all: true });
      Object.assign(before, await told(workspace));
    }
    const [report] = await at.workspace.runs.stop([second.agent], { graceMs: 0 });
    expect(report?.verified).toBe(true);
    expect((await at.cli("ls", "--all", "--json")).stdout.trim().split("\n")).toHaveLength(4);
  });

  it("R-004.23: cut to nothing while another process has it open and does not let go: all commands work", async () => {
    const at = lab();
    const record = await at.sh("exec sleep 300");
    const other = new DatabaseSync(database(at));
    other.exec("PRAGMA wal_checkpoint(TRUNCATE); BEGIN; SELECT * FROM runs");
    truncateSync(database(at), 0);
    expect(JSON.parse((await at.cli("ls", "--json")).stdout)).toMatchObject({ agent: record.agent, phase: "running" });
    expect((await at.cli("run", "--json", "--", "true")).code).toBe(0);
    expect((await at.cli("stop", "--grace", "0", record.agent)).code).toBe(0);
    expect((await at.cli("ls", "--all", "--json")).stdout.trim().split("\n")).toHaveLength(2);
    other.close();
    expect(await at.workspace.runs.list({ all: true })).toHaveLength(2);
  });

  it("R-004.7: stops by several processes while the registry is made again lose no row", async () => {
    const at = lab();
    const agents = await Promise.all(Array.from({ length: 6 }, () => at.sh("exec sleep 300")));
    const stops = agents.map(({ agent }) => at.cli("stop", "--grace", "0", "--json", agent));
    for (let i = 0; i < 5; i++) {
      rmSync(database(at), { force: true });
      await at.open().runs.reap();
    }
    for (const { code, stdout, stderr } of await Promise.all(stops)) {
      expect([code, stderr]).toEqual([0, ""]);
      expect(JSON.parse(stdout)).toMatchObject({ verified: true, outcome: "stopped" });
    }
    const seen = await at.open().runs.list({ all: true });
    expect(seen.map(({ agent, outcome }) => [agent, outcome]).sort()).toEqual(
      agents.map(({ agent }) => [agent, "stopped"]).sort(),
    );
  });
});
