import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { type Lab, supportFile } from "../support/workspace.ts";

const PLAIN = "/usr/local/bin:/usr/bin:/bin";
/** Reports, and starts one below itself that does the same and tells its PATH. */
const CHILD = 'midwatch progress working "from below" >/dev/null && echo "path $PATH"';
const SCRIPT = `midwatch progress working "from within" --percent 40 && midwatch run --wait --name below -- sh -c '${CHILD}'`;

/** A lab with a state folder of its own, where no midwatch is on PATH. */
function alone(): Lab & { state: string } {
  const home = folder();
  vi.stubEnv("XDG_STATE_HOME", home);
  const parts = (process.env["PATH"] ?? "").split(":").filter((part) => !part.includes("node_modules"));
  vi.stubEnv("PATH", parts.join(":"));
  return Object.assign(lab(), { state: join(home, "midwatch") });
}

async function expectReports(at: Lab, agent: string): Promise<void> {
  const { task } = await at.workspace.runs.show(agent);
  await at.workspace.runs.wait([agent]);
  expect((await at.raw(agent)).toString()).not.toContain("not found");
  const reports = at.workspace.mail.reports(task as never, 10).progress;
  const below = (await at.workspace.runs.list({ all: true })).find(({ parent }) => parent === agent);
  expect(reports.map(({ agent_id, message }) => [agent_id, message]).sort()).toEqual([
    [below?.agent, "from below"],
    [agent, "from within"],
  ]);
  const [, path = ""] = /^path (.*)$/m.exec((await at.raw(below?.agent ?? "")).toString()) ?? [];
  const own = path.split(":").filter((part) => part.includes("/midwatch/bin/"));
  expect(own).toHaveLength(1);
  expect(lstatSync(own[0] ?? "").mode & 0o777).toBe(0o700);
  // One mark of the run, its own.
  expect(path.split(":").filter((part) => part.startsWith("/dev/null/"))).toHaveLength(1);
}

describe("R-000.53: midwatch is there inside a run, and inside one that it starts", () => {
  it("started by ./midwatch of a clone", async () => {
    const at = alone();
    const made = execFileSync(supportFile("../../midwatch"), ["run", "--json", "--", "sh", "-c", SCRIPT], {
      cwd: at.folder,
    });
    await expectReports(at, (JSON.parse(made.toString().split("\n")[0] ?? "") as { agent: string }).agent);
  });

  it("started by the library", async () => {
    const at = alone();
    await expectReports(at, (await at.sh(SCRIPT)).agent);
  });

  it("started over MCP", async () => {
    const at = alone();
    const { call } = await stdioClient(at, "modern");
    const { data } = await call("deploy_headless_agent", { driver: "command", command: ["sh", "-c", SCRIPT] });
    await expectReports(at, data["agent_id"] as string);
  });

  it("with a PATH from a file", async () => {
    const at = alone();
    const file = join(at.folder, "env");
    writeFileSync(file, `PATH=${PLAIN}\n`);
    const run = await at.workspace.runs.start({
      argv: ["sh", "-c", "midwatch progress working x && echo path $PATH"],
      envFile: file,
    });
    expect(await at.workspace.runs.wait([run.agent])).toMatchObject([{ outcome: "completed" }]);
    expect((await at.raw(run.agent)).toString()).toMatch(
      new RegExp(`^path \\S+/midwatch/bin/[0-9a-f]{16}:${PLAIN}:/dev/null/`, "m"),
    );
  });
});

describe("R-000.53: the folder of the program", () => {
  const at = (made: { state: string }): { folder: string; file: string } => {
    const bin = join(made.state, "bin");
    const inside = join(bin, readdirSync(bin)[0] ?? "");
    return { folder: inside, file: join(inside, "midwatch") };
  };
  async function found(made: Lab): Promise<string> {
    const { agent } = await made.sh("command -v midwatch || echo none");
    await made.workspace.runs.wait([agent]);
    return (await made.raw(agent)).toString().trim();
  }

  it("is private; a program that is not right is made anew, by renaming", async () => {
    const made = alone();
    const first = await found(made);
    const { file } = at(made);
    expect(first).toBe(file);
    const text = readFileSync(file, "utf8");
    for (const spoil of [
      () => writeFileSync(file, "#!/bin/sh\necho stale\n"),
      () => writeFileSync(file, ""),
      () => chmodSync(file, 0o777),
      () => chmodSync(file, 0o600),
      () => rmSync(file),
      () => {
        renameSync(file, `${file}.elsewhere`);
        symlinkSync(`${file}.elsewhere`, file);
      },
    ]) {
      spoil();
      expect(await found(made)).toBe(file);
      expect([readFileSync(file, "utf8"), lstatSync(file).mode]).toEqual([text, 0o100700]);
    }
  });

  const isRoot = process.getuid?.() === 0;
  if (!isRoot) console.warn("SKIPPED: only root can make a folder of somebody else.");
  const hostile: [name: string, spoil: (made: { state: string }) => void][] = [
    ["the state folder can be written by the group", ({ state }) => chmodSync(state, 0o770)],
    ["bin can be written by others", ({ state }) => chmodSync(join(state, "bin"), 0o707)],
    ["the folder can be written by the group", (made) => chmodSync(at(made).folder, 0o720)],
    [
      "the folder is a link",
      (made) => {
        const { folder: inside } = at(made);
        renameSync(inside, `${inside}.elsewhere`);
        symlinkSync(`${inside}.elsewhere`, inside);
      },
    ],
    [
      "bin is a file",
      ({ state }) => {
        rmSync(join(state, "bin"), { recursive: true });
        writeFileSync(join(state, "bin"), "");
      },
    ],
    [
      "a folder stands where the program should be",
      (made) => {
        rmSync(at(made).file);
        mkdirSync(at(made).file);
      },
    ],
  ];
  it.each(hostile)("is not used where %s: the run starts without", async (_, spoil) => {
    const made = alone();
    await found(made);
    spoil(made);
    expect(await found(made)).toBe("none");
  });

  it.skipIf(!isRoot)("R-000.53: is not used where it belongs to somebody else", async () => {
    const made = alone();
    await found(made);
    chownSync(at(made).folder, 65_534, 65_534);
    expect(await found(made)).toBe("none");
  });
});
