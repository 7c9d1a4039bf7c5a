// Seed 000, in its order: what its test scenarios and its own tests ask for, on real processes and files. Figures of time are asserted only where the
// promise is far from noise; bench/ has the rest.
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { JSONLReader } from "../../src/index.ts";
import { jsonlTail } from "../../src/log/jsonl/jsonl.ts";
import { midwatch } from "../support/cli.ts";
import { mayMount, remount, tmpfs } from "../support/fault/tmpfs.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { CLI, ended, type Lab, supportFile, text, until } from "../support/workspace.ts";

const WORKER = supportFile("worker/append-worker.ts");
const jsonl = async (verb: string, file: string, ...more: string[]): Promise<Record<string, unknown>[]> =>
  (await midwatch(folder(), ["jsonl", verb, "--json", ...more, file])).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const appended = (file: string): { source: string; line: number }[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("1.1 an agent that crashes in mid-line", () => {
  it("R-000.1, R-000.2, R-000.43: read_jsonl_robust: three records, the middle one a parse_error with 200 characters of the line", async () => {
    const file = join(folder(), "stream.jsonl");
    const torn = `{"incomplete": "${"line ".repeat(100)}`;
    writeFileSync(file, `{"valid": "line1"}\n${torn}\n{"valid": "line2"}\n`);
    const [first, middle, last] = await jsonl("tail", file);
    expect([first?.["data"], last?.["data"]]).toEqual([{ valid: "line1" }, { valid: "line2" }]);
    expect(middle).toMatchObject({ type: "parse_error", line_number: 2, error: expect.stringMatching(/\w/) });
    expect(middle?.["raw_content"]).toBe(torn.slice(0, 200));
  });

  it.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)(
    "R-000.5, R-000.6: a writer that %s ends leaves whole records, and the next one is not glued to them",
    async (signal) => {
      const file = join(folder(), "events.jsonl");
      const child = fork(WORKER, [file, "a", "1000000"]);
      const gone = once(child, "exit");
      await until(() => existsSync(file) && statSync(file).size > 500_000);
      child.kill(signal);
      await gone;
      const before = readFileSync(file);
      const whole = before.subarray(0, before.lastIndexOf(10) + 1);
      if (signal !== "SIGKILL") expect(whole.length).toBe(before.length);
      await once(fork(WORKER, [file, "b", "1"]), "exit");
      const verdict = (await jsonl("verify", file))[0];
      expect(verdict?.["bad_count"]).toBe(whole.length === before.length ? 0 : 1);
      expect((await jsonl("tail", file, "-n", "1"))[0]?.["data"]).toMatchObject({ source: "b", line: 0 });
    },
  );
});

describe("1.2 writers at once", () => {
  it.each([
    [3, 1000],
    [5, 100],
  ])("R-000.7, R-000.43: %i processes of %i lines each: all there, none broken", async (processes, each) => {
    const file = join(folder(), "stream.jsonl");
    const children = Array.from({ length: processes }, (_, i) => fork(WORKER, [file, `proc${i}`, String(each)]));
    await Promise.all(children.map((child) => once(child, "exit")));
    const lines = appended(file);
    expect(lines).toHaveLength(processes * each);
    expect(lines.every((line) => "source" in line && "line" in line)).toBe(true);
  });
});

describe("1.4 very large logs", () => {
  it("R-000.47: with the defaults no run is ended for what it prints", async () => {
    const at = lab();
    const run = await at.sh("true");
    expect(at.intent(run).limits.output_bytes).toBe(0);
  });

  it("R-000.15, R-000.16, R-000.43: the last 100 of a log of 10 GB come within 100 ms; nothing else of it is read", () => {
    const file = join(folder(), "large.jsonl");
    const fd = openSync(file, "w");
    ftruncateSync(fd, 10 * 2 ** 30); // A hole: as large as it says to whoever reads it.
    const lines = Array.from({ length: 1000 }, (_, n) => `{"line":${n},"padding":"${"x".repeat(2400)}"}\n`);
    writeSync(fd, `\n${lines.join("")}`, 10 * 2 ** 30);
    [...jsonlTail(file, 1)]; // What is loaded once is not what is measured.
    const begun = performance.now();
    const tail = [...jsonlTail(file, 100, { records: true })];
    const elapsed = performance.now() - begun;
    expect(tail.map(({ record }) => record?.data)).toEqual(
      Array.from({ length: 100 }, (_, n) => expect.objectContaining({ line: 900 + n })),
    );
    expect(elapsed).toBeLessThan(100);
  });
});

describe("1.5 corruption", () => {
  it("R-000.23, R-000.43: lines spoilt by hand are listed with their errors, the others are read, and the exit code tells", async () => {
    const at = lab();
    const run = await at.sh(`for i in 1 2 3 4 5; do echo '{"n":'$i'}'; done`);
    await at.workspace.runs.wait([run.agent]);
    const bytes = readFileSync(run.log);
    writeFileSync(run.log, bytes.fill("}", 8, 9));
    const { code, stdout } = await at.cli("verify", "--json", run.agent);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ ok: false, lines: 5 })]);
    expect(await jsonl("verify", run.log)).toMatchObject([{ ok: false, bad: [{ line_number: 2 }], bad_count: 1 }]);
    expect((await jsonl("tail", run.log)).map(({ type }) => type)).toEqual([
      "line",
      "parse_error",
      "line",
      "line",
      "line",
    ]);
  });
});

describe.skipIf(!mayMount)("1.6 permissions (a mount that is read-only: chmod 555 does not stop root)", () => {
  it("R-000.26, R-000.32, R-000.25: deploying there is refused with error and suggestion; the folder it suggests works", async () => {
    const disk = tmpfs("size=200m");
    execFileSync(process.execPath, [CLI, "task", "here"], { cwd: disk }); // What this process has open would hold the mount.
    remount(disk, "ro");
    const { call } = await stdioClient({ folder: disk }, "modern");
    const refused = await call("deploy_headless_agent", { driver: "command", command: ["true"] });
    expect(refused).toMatchObject({
      isError: true,
      data: {
        success: false,
        error: expect.stringMatching(/read-only|written/),
        error_type: "NOT_WRITABLE",
        suggestion: expect.stringContaining("--fallback-dir"),
      },
    });
    const other = folder();
    const run = await midwatch(disk, ["run", "--json", "--wait", "--fallback-dir", other, "--", "echo", "there"]);
    remount(disk, "rw");
    expect(run.code).toBe(0);
    const { log } = JSON.parse(run.stdout.split("\n")[0] ?? "") as { log: string };
    expect(log.startsWith(other)).toBe(true);
    expect(text(log)).toBe("there\n");
  });
});

describe("1.7 and 1.8 rotation and reading under a writer", () => {
  it("R-000.27, R-000.28, R-000.37: renamed under a living writer, and read a hundred times meanwhile: no error, every line once", async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const script = `i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo '{"line":'$i'}'; [ $i -ne 200 ] || until [ -e "${go}" ]; do sleep 0.02; done; sleep 0.005; done`;
    const run = await at.sh(script);
    const seen: number[] = [];
    const following = (async () => {
      for await (const { data } of at.workspace.logs.records(run.agent, { follow: true, offset: 0 }))
        seen.push((data as { line: number }).line);
    })();
    await until(() => seen.length > 100);
    renameSync(run.log, `${run.log}.1`);
    writeFileSync(run.log, "");
    writeFileSync(go, "");
    for (let n = 0; n < 100; n++) {
      const records = [...(await gather(at, run.agent, 10))];
      expect(records.every((type) => type !== "parse_error")).toBe(true);
    }
    await at.workspace.runs.wait([run.agent]);
    await following;
    expect(seen).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
  });

  async function gather(at: Lab, agent: string, lines: number): Promise<string[]> {
    const types: string[] = [];
    for await (const { type } of at.workspace.logs.records(agent, { lines })) types.push(type);
    return types;
  }
});

describe("2 failures", () => {
  const sh = (script: string) => ({ driver: "command", command: ["sh", "-c", script] });

  it("R-000.30, R-000.31: get_agent_output of one that has not printed yet, and of one that died before it could", async () => {
    const at = lab();
    const { call } = await stdioClient(at, "modern");
    const { data: silent } = await call("deploy_headless_agent", sh("exec sleep 60"));
    const { data: none } = await call("get_agent_output", { agent_id: silent["agent_id"] });
    expect(none).toMatchObject({ success: true, output: [], note: "Agent has not yet written any logs" });
    const { data: broken } = await call("deploy_headless_agent", sh("echo no such model >&2; exit 3"));
    await call("wait_for_agents", { agent_ids: [broken["agent_id"]], timeout_seconds: 40 });
    const { data: dead } = await call("get_agent_output", { agent_id: broken["agent_id"] });
    expect(dead).toMatchObject({ success: true, source: "stderr", output: [{ text: "no such model" }] });
    expect(dead["note"]).toContain("Agent exited without writing logs");
  });

  it("R-000.35: where its folder cannot be made again the agent goes on to its end all the same", async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const done = join(at.folder, "done");
    const run = await at.sh(
      `echo one; until [ -e "${go}" ]; do sleep 0.02; done; echo two; echo over >"${done}"; exec sleep 60`,
    );
    await until(() => text(run.log) !== "");
    renameSync(at.root, `${at.root}.away`);
    writeFileSync(at.root, ""); // No folder can be made at this name now.
    writeFileSync(go, "");
    await until(() => text(done) === "over\n");
    expect(process.kill(run.pid ?? 0, 0)).toBe(true);
    rmSync(at.root);
    renameSync(`${at.root}.away`, at.root);
    await until(async () => (await at.raw(run.agent)).toString() === "one\ntwo\n");
    expect(await at.workspace.runs.stop([run.agent], { graceMs: 0 })).toMatchObject([{ verified: true, left: [] }]);
  });
});

describe("3.4 a restart with the same id", () => {
  it("R-000.38, R-000.52: begins with a restart marker; what was printed before is kept", async () => {
    const at = lab();
    const run = await at.sh("echo hello");
    await at.workspace.runs.wait([run.agent]);
    await at.workspace.runs.restart(run.agent);
    await at.workspace.runs.wait([run.agent]);
    const { log } = await at.workspace.runs.show(run.agent);
    const [marker, line] = text(log).split("\n");
    expect([JSON.parse(marker ?? ""), line]).toEqual([
      expect.objectContaining({
        type: "lifecycle",
        event: "agent_restart",
        agent_id: run.agent,
        timestamp: expect.stringMatching(/Z$/),
      }),
      "hello",
    ]);
    expect((await at.cli("logs", "--run", "1", run.agent)).stdout).toBe("hello\n");
  });
});

describe("5.1 its unit tests", () => {
  it("R-000.28, R-000.43: test_read_while_writing: 100 reads beside 1,000 writes make no error", async () => {
    const file = join(folder(), "stream.jsonl");
    appendFileSync(file, "");
    const writer = spawn(process.execPath, [WORKER, file, "w", "1000"]);
    const gone = ended(writer);
    for (let n = 0; n < 100; n++) {
      expect(new JSONLReader(file).tail(10).filter(({ type }) => type === "parse_error")).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect((await gone).code).toBe(0);
    expect(appended(file)).toHaveLength(1000);
  });
});
