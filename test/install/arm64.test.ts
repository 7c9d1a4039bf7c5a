/**
 * The keeper for ARM, emulated: start, log, stop, receipt. Agents are programs of this machine. What emulation cannot carry stands in docs/install.md:
 * to the kernel such a keeper is the emulator, so no other keeper knows it for one.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ListRecord, Report } from "../../src/core/types.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { findTool } from "../support/tools.ts";
import { supportFile, until } from "../support/workspace.ts";

const QEMU = "qemu-aarch64-static";
const zig = findTool("zig");
const emulated = spawnSync(QEMU, ["--version"]).status === 0;
if (!emulated)
  console.warn(`SKIPPED: the keeper for ARM was not run: ${QEMU} is not installed (Debian: qemu-user-static).`);

it.skipIf(zig === undefined || !emulated)(
  "arm64: an agent goes from start to receipt under the emulated keeper",
  async () => {
    const home = folder();
    const [keeper, program] = [join(home, "emulated"), join(home, "midwatch-keeper")];
    const words = [
      "-s",
      "-C",
      supportFile("../../keeper"),
      "prebuilt",
      "PLATFORM=linux-arm64",
      `OUT=${program}`,
      `ZIG=${zig}`,
    ];
    execFileSync("make", words, { stdio: "inherit", timeout: patient(300_000) });
    writeFileSync(keeper, `#!/bin/sh\nexec ${QEMU} ${program} "$@"\n`, { mode: 0o755 });
    // The machine of an ELF file is at byte 18: 183 is AArch64.
    expect(readFileSync(program).readUInt16LE(18)).toBe(183);
    const env = { ...process.env, MIDWATCH_KEEPER: keeper };
    const script = "echo from below; (setsid sleep 600 &); sleep 600 & wait";
    const ask = async (...argv: string[]) => await midwatch(home, argv, env);
    const run = await ask("run", "--json", "--name", "arm", "--", "sh", "-c", script);
    expect(run.code, run.stderr).toBe(0);
    const { agent } = JSON.parse(run.stdout) as ListRecord;
    await until(async () => (await ask("logs", agent)).stdout === "from below\n", 30_000, "the log");
    const stop = await ask("stop", "--json", "--grace", "1s", agent);
    expect(JSON.parse(stop.stdout) as Report).toMatchObject({ verified: true, left: [], processes_total: 3 });
    const check = await ask("doctor", "--self-check");
    expect(check.code, check.stdout).toBe(0);
  },
);
