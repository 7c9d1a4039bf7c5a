// Where sync cannot write, sync pauses and nothing else does.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { it } from "vitest";
import { mayMount, remount, tmpfs } from "../support/fault/tmpfs.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { CLI, until } from "../support/workspace.ts";

it.skipIf(!mayMount)(
  "R-003.14, R-003.12: a full disk pauses sync alone; rounds go on, and so does sync when there is room",
  async () => {
    const remote = join(folder(), "remote.git");
    execFileSync("git", ["init", "--quiet", "--bare", remote]);
    const at = lab();
    const disk = tmpfs("size=256k", join(at.root, "sync"));
    for (let i = 0; i < 8; i++)
      await at.workspace.journal.append({ interaction: 1, actor: "A", type: "question", content: "x".repeat(60_000) });
    const sync = ["--sync-remote", remote, "--sync-every", "100ms"];
    const up = at.node(CLI, "up", "--no-http", "--workspace", at.root, "--leader-ttl", "1s", ...sync);
    let told = "";
    up.stderr?.on("data", (part) => {
      told += part;
    });
    await until(() => told.includes("Sync failed: There is no room"), 40_000);
    const queued = await at.workspace.runs.start({ argv: ["true"], queue: true });
    await until(async () => (await at.workspace.runs.show(queued.agent)).outcome === "completed", 40_000);
    remount(disk, "size=32M");
    await until(() => told.includes("Sync works again"), 40_000);
    await until(async () => (await at.workspace.remote.status())?.waiting === 0, 40_000);
    up.kill("SIGTERM");
    await until(() => up.exitCode !== null || up.signalCode !== null, 20_000);
  },
);
