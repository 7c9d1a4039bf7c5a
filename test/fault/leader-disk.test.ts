// `midwatch up` where it cannot write: it says so at once, pauses, and goes on when there is room. Or where there can be no leader.
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, ended, supportFile, until } from "../support/workspace.ts";

it.skipIf(!mayMount)(
  "R-003.12, R-003.14: `midwatch up` on a full disk tells at once, is offline after 1, 2 and 4 s, and goes on when there is room",
  async () => {
    const disk = tmpfs("size=4M");
    const at = lab({}, disk);
    const up = at.node(CLI, "up", "--workspace", at.root, "--leader-ttl", "1s");
    let told = "";
    up.stderr?.on("data", (part) => {
      told += part;
    });
    const leads = async (): Promise<boolean> => {
      const { state, pid } = await at.workspace.journal.leader();
      return state === "held" && pid === up.pid;
    };
    await until(leads);
    const filler = join(disk, "filler");
    const fill = (): void => {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: "a" });
      } catch {
        // Full, for the moment: `up` gives a page back whenever it has replaced a file.
      }
    };
    const begun = performance.now();
    await until(() => {
      fill();
      return told.includes("Trying again after 1, 2 and 4 s");
    });
    console.log(`told after ${Math.round(performance.now() - begun)} ms`);
    await until(() => told.includes("offline"), 30_000);
    console.log(`offline after ${Math.round(performance.now() - begun)} ms`);
    expect(up.exitCode).toBeNull();
    rmSync(filler);
    await until(() => told.includes("works again"), 30_000);
    await until(leads, 30_000);
    const errors: string[] = [];
    for await (const { event } of at.workspace.journal.events({ type: "error" })) errors.push(event.content);
    expect(errors.join()).toMatch(/There is no room/);
    expect((await at.workspace.up.health()).paused).toEqual([]);
  },
);

it("without working hard links nobody leads: a clear error and exit 5", async () => {
  const at = lab();
  const preload = pathToFileURL(supportFile("fault/no-links.ts")).href;
  const child = spawn(process.execPath, ["--import", preload, CLI, "up", "--json", "--workspace", at.root], {
    cwd: at.folder,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: patient(30_000),
    killSignal: "SIGKILL",
  });
  const { code, stderr } = await ended(child);
  expect(code).toBe(5);
  expect(JSON.parse(stderr)).toMatchObject({
    error: { code: "NO_HARD_LINKS", hint: expect.stringContaining("--workspace"), retryable: false },
  });
});
