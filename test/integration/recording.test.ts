import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { rawLog, workspaceIn } from "../support/run.ts";

async function printed(bytes: Uint8Array, stderr = false): Promise<Buffer> {
  const place = folder();
  const workspace = workspaceIn(place);
  const file = join(place, "input");
  writeFileSync(file, bytes);
  const { agent } = await workspace.runs.start({ argv: ["sh", "-c", `cat "$0" ${stderr ? ">&2" : ""}`, file] });
  await workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  return rawLog(workspace, agent, { stderr });
}

describe("the log is what the agent printed, byte for byte", () => {
  it.each([
    ["nothing", Buffer.alloc(0)],
    ["no final newline", Buffer.from("one\ntwo")],
    ["CRLF", Buffer.from("one\r\ntwo\r\n")],
    ["NUL bytes", Buffer.from("a\0b\n\0\0\n")],
    ["invalid UTF-8", Buffer.from([0xff, 0xfe, 10, 0xc3, 0x28, 10, 0xed, 0xa0, 0x80])],
    ["only newlines", Buffer.from("\n\n\n")],
    ["a line of 50 MB", Buffer.concat([Buffer.alloc(50_000_000, "x"), Buffer.from("\nlast\n")])],
    ["a multibyte character cut at the end", Buffer.from([0x61, 10, 0xf0, 0x9f])],
  ])("R-000.4, R-000.9, R-000.29: %s", async (_, bytes) => {
    expect((await printed(bytes)).equals(bytes)).toBe(true);
  });

  it("R-000.4: stderr is kept beside it", async () => {
    const bytes = randomBytes(100_000);
    expect((await printed(bytes, true)).equals(bytes)).toBe(true);
  });

  it("R-000.4: any bytes (property)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5000 }), async (bytes) => {
        expect((await printed(bytes)).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  it("R-000.4: a Node program that prints and calls process.exit() loses nothing", async () => {
    const workspace = workspaceIn(folder());
    const script =
      'const line = "x".repeat(20000); for (let i = 0; i < 200; i++) console.log(i + line); process.exit(0)';
    const { agent } = await workspace.runs.start({ argv: [process.execPath, "-e", script] });
    await workspace.runs.wait([agent]);
    const lines = (await rawLog(workspace, agent)).toString().split("\n").filter(Boolean);
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it("R-000.9, R-004.14: files are 0600 in folders 0700, the log is opened for appending only", async () => {
    const workspace = workspaceIn(folder());
    const { agent, log, task } = await workspace.runs.start({
      argv: ["sh", "-c", "cat /proc/self/fdinfo/1; sleep 0.1"],
    });
    await workspace.runs.wait([agent]);
    const flags = Number.parseInt(/flags:\s*(\d+)/.exec(readFileSync(log, "utf8"))?.[1] ?? "0", 8);
    expect(flags & 0o2000).toBe(0o2000);
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect([log, join(workspace.root, "midwatch.db"), join(workspace.root, task, "task.json")].map(mode)).toEqual([
      0o600, 0o600, 0o600,
    ]);
    expect([workspace.root, join(workspace.root, task), join(log, "..")].map(mode)).toEqual([0o700, 0o700, 0o700]);
  });

  it("R-000.8, R-000.10, R-000.39: two agents of one name in one task in one second have two logs", async () => {
    const workspace = workspaceIn(folder());
    const { task } = workspace.runs.makeTask("two");
    const [a, b] = await Promise.all(
      [1, 2].map((n) => workspace.runs.start({ argv: ["echo", String(n)], name: "same", task })),
    );
    expect(a?.log).not.toBe(b?.log);
    expect(a?.log).toBe(join(workspace.root, task, "logs", `${a?.agent}_stream.jsonl`));
    await workspace.runs.wait([a?.agent, b?.agent]);
    expect((await rawLog(workspace, a?.agent ?? "")).toString()).toBe("1\n");
  });

  it("R-000.29: the last N lines, whole lines only while the run lives, the unfinished one afterwards", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await workspace.runs.start({
      argv: ["sh", "-c", 'printf "1\\n2\\n3\\npart"; read x'],
      stdin: "/dev/zero",
    });
    const tail = async (lines: number): Promise<string[]> => {
      const texts: string[] = [];
      for await (const { raw } of workspace.logs.read(agent, { lines })) texts.push(raw.bytes.toString());
      return texts;
    };
    await expect.poll(() => tail(2)).toEqual(["2", "3"]);
    await workspace.runs.stop([agent], { graceMs: 0 });
    expect(await tail(2)).toEqual(["3", "part"]);
    expect(await tail(0)).toEqual([]);
    expect(await tail(99)).toEqual(["1", "2", "3", "part"]);
  });
});
