import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { workspaceIn } from "../support/run.ts";
import { takeOverWorkspace } from "../support/trusted.ts";

const LONG = "a".repeat(300);

describe("bad input", () => {
  it.each([
    ["no command", ["run"], 2, "USAGE"],
    ["an empty command", ["run", "--", ""], 2, "USAGE"],
    ["an empty prompt", ["run", ""], 2, "USAGE"],
    ["a prompt of blanks", ["run", "--driver", "claude", " \n"], 2, "USAGE"],
    ["a command that does not exist", ["run", "--", "no-such-command-here"], 5, "COMMAND_NOT_FOUND"],
    ["a file that is not executable", ["run", "--", "./plain"], 5, "COMMAND_NOT_FOUND"],
    ["a folder as a command", ["run", "--", "./folder"], 5, "COMMAND_NOT_FOUND"],
    ["a cwd that is gone", ["run", "--cwd", "gone", "--", "true"], 2, "BAD_PATH"],
    ["a file as cwd", ["run", "--cwd", "plain", "--", "true"], 2, "BAD_PATH"],
    ["an input that is gone", ["run", "--stdin", "gone", "--", "true"], 2, "BAD_PATH"],
    ["a folder as input", ["run", "--stdin", "folder", "--", "true"], 2, "BAD_PATH"],
    ["a name that is a path", ["run", "--name", "../../etc", "--", "true"], 2, "BAD_ID"],
    ["a task that is a path", ["run", "--task", "../x", "--", "true"], 2, "BAD_ID"],
    ["an unknown flag", ["run", "--grase", "1s", "--", "true"], 2, "USAGE"],
    ["an unknown command", ["rum", "--", "true"], 2, "USAGE"],
    ["a negative grace", ["run", "--grace", "-1", "--", "true"], 2, "USAGE"],
    ["a huge size", ["run", "--output-limit", "99999999999999999999", "--", "true"], 2, "USAGE"],
    ["a size that is none", ["run", "--disk-warn", "lots", "--", "true"], 2, "USAGE"],
    ["disk marks out of order", ["run", "--disk-floor", "1G", "--", "true"], 2, "BAD_CONFIG"],
    ["an unknown tier", ["run", "--tier", "magic", "--", "true"], 2, "USAGE"],
    ["an empty task", ["task", "  "], 2, "USAGE"],
  ])("R-004.19, R-000.26: run: %s", async (_, args, code, name) => {
    const place = folder();
    writeFileSync(join(place, "plain"), "x");
    chmodSync(join(place, "plain"), 0o644);
    mkdirSync(join(place, "folder"));
    const before = readdirSync(place).sort();
    const result = await midwatch(place, [...args.slice(0, 1), "--json", ...args.slice(1)]);
    expect(result).toMatchObject({ code, stdout: "" });
    const { error } = JSON.parse(result.stderr);
    expect(error).toMatchObject({
      code: name,
      message: expect.any(String),
      hint: expect.any(String),
      retryable: expect.any(Boolean),
    });
    expect(readdirSync(place).sort()).toEqual(before);
  });

  it.each([
    ["../../etc/passwd"],
    ["a b"],
    ['a"b'],
    ["a'b"],
    ["$(id)"],
    ["`id`"],
    [LONG],
    ["A b"],
    ["-x y"],
    ["ä"],
    [""],
    ["a/b"],
    [".."],
  ])("R-004.13, R-004.19: the id %j is refused by every command that takes one, and nothing changes", async (id) => {
    const place = folder();
    workspaceIn(place).runs.makeTask("one");
    const names = readdirSync(join(place, ".agent-workspace")).sort();
    for (const command of ["show", "stop", "logs", "wait", "restart"]) {
      const result = await midwatch(place, [command, "--json", "--", id]);
      expect([result.code, result.stdout], `${command} ${id}`).toEqual([2, ""]);
      expect(JSON.parse(result.stderr).error.message).not.toContain("undefined");
    }
    expect(readdirSync(join(place, ".agent-workspace")).sort()).toEqual(names);
  });

  it("an agent that is not there: exit 3, with what to do next", async () => {
    const place = folder();
    workspaceIn(place).runs.makeTask("one");
    for (const command of ["show", "stop", "logs", "wait", "restart"]) {
      expect(await midwatch(place, [command, "nobody"])).toMatchObject({
        code: 3,
        stdout: "",
        stderr: expect.stringContaining("midwatch ls --all"),
      });
    }
    expect(await midwatch(place, ["run", "--task", "TASK-20200101-000000-00000000", "--", "true"])).toMatchObject({
      code: 3,
    });
    expect(await midwatch(folder(), ["ls"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("no workspace"),
    });
  });

  it("a task where an agent belongs: the way to its agents", async () => {
    const place = folder();
    const { task } = workspaceIn(place).runs.makeTask("one");
    for (const command of ["show", "logs", "stop"]) {
      const { code, stderr } = await midwatch(place, [command, task]);
      expect([code, stderr], command).toEqual([2, expect.stringContaining(`midwatch ls --all --task ${task}`)]);
    }
  });

  it("stop: an id that names nobody keeps no other from being stopped, and the worst exit code counts", async () => {
    const place = folder();
    const { agent } = await workspaceIn(place).runs.start({ argv: ["sleep", "60"] });
    const { code, stdout, stderr } = await midwatch(place, ["stop", "--json", "nobody", agent, "../x"]);
    expect([code, JSON.parse(stdout)]).toEqual([3, expect.objectContaining({ agent, verified: true })]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "NOT_FOUND_AGENT",
      message: expect.stringContaining('"../x" is not an agent id'),
    });
  });

  it.each([
    ["plain/below", 2, "BAD_PATH"],
    [LONG, 2, "BAD_PATH"],
    ["/proc/nothing", 5, "NOT_WRITABLE"],
    ["plain", 5, "UNSAFE_PATH"],
  ])("a workspace that cannot be: %s", async (path, code, name) => {
    const place = folder();
    writeFileSync(join(place, "plain"), "x");
    const result = await midwatch(place, ["run", "--json", "--workspace", path, "--", "true"]);
    expect([result.code, JSON.parse(result.stderr).error.code]).toEqual([code, name]);
  });

  it("the installed command has its own --env-file, which Node would take for itself", () => {
    const command = join(import.meta.dirname, "../../dist/midwatch.js");
    const args = ["run", "--json", "--env-file", "gone", "--", "true"];
    const { status, stderr } = spawnSync(command, args, { cwd: folder(), encoding: "utf8", timeout: patient(30_000) });
    expect([status, JSON.parse(stderr).error.code]).toEqual([2, "BAD_PATH"]);
  });

  it("numbers of logs are checked at the door", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    const { agent } = await workspace.runs.start({ argv: ["true"] });
    for (const n of ["-1", "1.5", "many", "99999999999999999999"]) {
      expect((await midwatch(place, ["logs", `-n${n}`, agent])).code, n).toBe(2);
    }
    expect((await midwatch(place, ["logs", "--run", "7", agent])).code).toBe(3);
  });

  it("R-004.13: a link in place of a workspace folder is refused and not followed", async () => {
    const place = folder();
    const outside = folder();
    const workspace = workspaceIn(place);
    rmdirSync(join(workspace.root, "active"));
    symlinkSync(outside, join(workspace.root, "active"));
    expect(await midwatch(place, ["run", "--", "true"])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("symbolic link"),
    });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("R-004.13: a link in place of the database is refused and not followed", async () => {
    const place = folder();
    const outside = folder();
    mkdirSync(join(place, ".agent-workspace", "active"), { recursive: true });
    symlinkSync(join(outside, "theirs.db"), join(place, ".agent-workspace", "midwatch.db"));
    takeOverWorkspace(join(place, ".agent-workspace"));
    for (const words of [["run", "--", "true"], ["ls"], ["reap"], ["prune"]])
      expect(await midwatch(place, words)).toMatchObject({ code: 5, stderr: expect.stringContaining("UNSAFE_PATH") });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("an agent is found by its name as it was given, whatever its case", async () => {
    const place = folder();
    const { agent } = await workspaceIn(place).runs.start({ argv: ["true"], name: "Ltok" });
    for (const id of ["Ltok", "LTOK", agent.toUpperCase()])
      expect(await midwatch(place, ["show", id])).toMatchObject({ code: 0, stdout: expect.stringContaining(agent) });
    expect(await midwatch(place, ["progress", "Ltok", "working", "halfway"])).toMatchObject({ code: 0 });
    const child = await midwatch(place, ["run", "--parent", agent.toUpperCase(), "--json", "--", "true"]);
    expect(child).toMatchObject({ code: 0, stderr: "" });
  });

  it("a prefix that is not unique is answered with what it could be", async () => {
    const place = folder();
    const workspace = workspaceIn(place);
    await workspace.runs.start({ argv: ["true"], name: "twin" });
    await workspace.runs.start({ argv: ["true"], name: "twin" });
    expect(await midwatch(place, ["show", "twin"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("could be twin-"),
    });
    expect(existsSync(join(place, ".agent-workspace"))).toBe(true);
  });
});
