/**
 * A process that takes snapshots is killed at random, and at each of its steps, while events, late events and bad lines come in. Each
 * time both files are whole; in the end they are what a rebuild gives, byte for byte, and each bad line was told once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedLog } from "../../src/journal/embedded.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { fileOf, readJournal, snapshotOf } from "../support/data/journal.ts";
import { pick, random } from "../support/data/random.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const STEPS = ["recorded", "folded", "archived", "rendered", "remembered", "random"] as const;
const BURST = 60;

/** `count` kills. */
export function snapshotKills(count: number, seed = 1): Promise<Report> {
  return campaign("kills of a snapshot", count, seed, async (fail, figures) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-snapshots-")));
    const { events } = layout(root);
    const log = new EmbeddedLog(events);
    const next = random(seed);
    let [highest, bad] = [0, 0];
    let child: ChildProcess | undefined;
    const talk = async (): Promise<void> => {
      for (let i = 0; i < BURST; i++) {
        if (next() < 0.05) {
          appendFileSync(events, next() < 0.5 ? "{half\n" : '{"interaction":"x"}\n');
          bad++;
        }
        if (next() < 0.3) highest++;
        const interaction = next() < 0.1 ? Math.floor(next() * highest) : highest;
        const content = pick(next, ["short", "x".repeat(3000), "a\n## b", "<!-- END COMMUNICATION -->"]);
        await log.append([
          makeEvent({ interaction, actor: "Agent A", type: pick(next, ["question", "answer"]), content }),
        ]);
      }
    };
    try {
      mkdirSync(root, { recursive: true });
      await talk();
      for (const round of rounds(count)) {
        const at = STEPS[round % STEPS.length] as (typeof STEPS)[number];
        const made = spawn(process.execPath, [supportFile("worker/snapshot-at.ts"), root], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        child = made;
        const ended = once(made, "exit");
        let [seen, text] = [0, ""];
        made.stdout.on("data", (part: Buffer) => {
          text += part;
          if (at !== "random" && text.includes(at) && ++seen === 1) made.kill("SIGKILL");
        });
        const talking = talk();
        await Promise.race([ended, sleep(at === "random" ? 200 + next() * 400 : 3000)]);
        made.kill("SIGKILL");
        await Promise.all([ended, talking]);
        const comm = fileOf(root, "communication.md");
        if (comm !== "" && !/^# Communication Snapshot\n<!-- BEGIN [\s\S]*<!-- END COMMUNICATION -->\n$/.test(comm))
          fail(`round ${round}: torn ${comm.slice(-200)}`);
        if (next() < 0.3) await snapshotOf(root);
      }
      await snapshotOf(root);
      const grown = ["communication.md", "archive.md"].map((name) => fileOf(root, name));
      await snapshotOf(root, { rebuild: true });
      const rebuilt = ["communication.md", "archive.md"].map((name) => fileOf(root, name));
      for (const i of [0, 1])
        if (grown[i] !== rebuilt[i])
          fail(`file ${i} differs from a rebuild: ${grown[i]?.length} and ${rebuilt[i]?.length} characters`);
      const read = await readJournal(root);
      const errors = read.stored.filter(({ event }) => event.type === "error");
      const records = fileOf(root, "events.error.log").trim().split("\n").filter(Boolean);
      if (read.bad.length !== bad) fail(`${read.bad.length} bad lines read, ${bad} written`);
      if (errors.length !== bad) fail(`${errors.length} error events for ${bad} bad lines`);
      if (records.length !== bad) fail(`${records.length} records for ${bad} bad lines`);
      Object.assign(figures, { events: read.stored.length, "bad lines": bad, interactions: highest });
    } finally {
      child?.kill("SIGKILL");
      await log.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  });
}
