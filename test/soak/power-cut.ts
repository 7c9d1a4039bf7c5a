/**
 * The disk as it is after a power cut: a loop-mounted image is copied while two writers append, and mounted elsewhere. What was
 * acknowledged before is in it. The same writers without fdatasync must lose something, or the cut would prove nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readJournal } from "../support/data/journal.ts";
import { random } from "../support/data/random.ts";
import { LoopDisk } from "../support/fault/loop-disk.ts";
import { patient } from "../support/patience.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const WRITERS = 2;

/** `count` cuts, and one of the negative control. */
export function powerCuts(count: number, seed = 1): Promise<Report> {
  return campaign("power cuts", count, seed, async (fail, figures) => {
    const next = random(seed);
    let [acknowledged, bad] = [0, 0];
    for (const round of rounds(count)) {
      const cut = await cutOnce(false, 300 + next() * 700);
      if (cut.acknowledged === 0) fail(`cut ${round}: nothing was acknowledged, so nothing was tried`);
      if (cut.lost > 0) fail(`cut ${round}: ${cut.lost} of ${cut.acknowledged} acknowledged events are lost`);
      acknowledged += cut.acknowledged;
      bad += cut.bad;
    }
    const control = await cutOnce(true, 500);
    if (control.lost === 0) fail(`without fdatasync nothing was lost of ${control.acknowledged}: the cut is none`);
    Object.assign(figures, {
      acknowledged,
      "torn lines": bad,
      "lost without fdatasync": `${control.lost} of ${control.acknowledged}`,
    });
  });
}

async function cutOnce(
  careless: boolean,
  afterMs: number,
): Promise<{ acknowledged: number; lost: number; bad: number }> {
  const disk = new LoopDisk();
  const writers: ChildProcess[] = [];
  try {
    const root = join(disk.path, ".agent-workspace");
    mkdirSync(root);
    const said: string[] = writers.map(() => "");
    for (let i = 0; i < WRITERS; i++) {
      const args = [
        supportFile("worker/journal-writer.ts"),
        root,
        `w${i}`,
        "1000000",
        "400",
        ...(careless ? ["unsynced"] : []),
      ];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      said[i] = "";
      child.stdout.on("data", (part: Buffer) => {
        said[i] += part.toString();
      });
      writers.push(child);
    }
    for (
      const deadline = performance.now() + patient(20_000);
      said.some((text) => text === "") && performance.now() < deadline;
    )
      await sleep(5);
    await sleep(afterMs);
    for (const writer of writers) writer.kill("SIGSTOP");
    await sleep(50); // What was said before they stopped is in the pipes.
    const ids = said.flatMap((text) => text.split("\n").slice(0, -1));
    const after = disk.cut();
    const { stored, bad } = await readJournal(join(after, ".agent-workspace"));
    const there = new Set(stored.map(({ event }) => event.id));
    return { acknowledged: ids.length, lost: ids.filter((id) => !there.has(id)).length, bad: bad.length };
  } finally {
    for (const writer of writers) writer.kill("SIGKILL");
    await sleep(20);
    disk.end();
  }
}
