/** An agent puts a small file that would become gigabytes in the place of its archived log: whoever reads it is told, and holds little. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI } from "../support/workspace.ts";

const FOOTER = 9;
/** A command that reads nothing has about 80. */
const MEMORY_MB = 400;

const BOMBS: [string, (archive: Buffer) => Buffer][] = [
  ["claims a thousand million frames", (archive) => withCount(archive, 0x3fff_ffff)],
  ["has a frame of zeros that is far longer than it says", (archive) => bombed(archive, 1000)],
  ["has a frame of zeros as long as it says", (archive) => bombed(archive, 512 << 20)],
];

it.each(BOMBS)("an archive that %s", async (_, damage) => {
  const at = lab();
  const run = await at.sh("seq 1 2000; echo the end");
  await at.workspace.runs.wait([run.agent]);
  const other = await at.sh("echo innocent");
  await at.workspace.runs.wait([other.agent]);
  expect(await at.cli("archive", run.agent)).toMatchObject({ code: 0 });
  const [path = ""] = globSync(join(at.root, "**", "archive", `${run.agent}*.zst`));
  writeFileSync(path, damage(readFileSync(path)));

  for (const args of [
    ["logs"],
    ["page", "1"],
    ["search", "end"],
    ["show"],
    ["timeline"],
    ["restore"],
    ["verify"],
    ["ls"],
  ]) {
    const [name = "", ...rest] = args;
    const about = ["ls", "verify"].includes(name) ? [] : [run.agent];
    const words = name === "search" ? [name, ...rest] : [name, ...about, ...rest];
    const { code, megabytes, said } = measured(at.folder, words);
    expect(megabytes, `${words.join(" ")} holds ${megabytes} MB`).toBeLessThan(MEMORY_MB);
    expect(said, name).not.toContain("INTERNAL");
    if (name === "logs" || name === "restore")
      expect([code, said], name).toEqual([1, expect.stringContaining("CORRUPT_ARCHIVE")]);
  }
  expect((await at.cli("logs", other.agent)).stdout).toContain("innocent");
});

/** A command in a process of its own, and the most memory that it held. */
function measured(cwd: string, args: readonly string[]): { code: number | null; megabytes: number; said: string } {
  const place = folder();
  const [hook, told] = [join(place, "hook.mjs"), join(place, "told")];
  writeFileSync(
    hook,
    `import { writeFileSync } from "node:fs";
process.on("exit", () => writeFileSync(${JSON.stringify(told)}, String(process.resourceUsage().maxRSS)));\n`,
  );
  const done = spawnSync(process.execPath, ["--import", hook, CLI, ...args], {
    cwd,
    encoding: "utf8",
    timeout: patient(60_000),
    maxBuffer: 1 << 28,
  });
  return { code: done.status, megabytes: Number(readFileSync(told, "utf8")) / 1024, said: done.stdout + done.stderr };
}

function withCount(archive: Buffer, count: number): Buffer {
  archive.writeUInt32LE(count, archive.length - FOOTER);
  return archive;
}

/** Its one frame replaced by 512 MB of zeros, whose entry says `bytes`. */
function bombed(archive: Buffer, bytes: number): Buffer {
  const zeros = zstdCompressSync(Buffer.alloc(512 << 20));
  const tail = archive.subarray(archive.readUInt32LE(archive.length - FOOTER - 8));
  tail.writeUInt32LE(zeros.length, tail.length - FOOTER - 8);
  tail.writeUInt32LE(bytes, tail.length - FOOTER - 4);
  return Buffer.concat([zeros, tail]);
}
