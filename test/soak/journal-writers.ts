/**
 * Eight Node processes and eight shells (scripts/log_event.sh) append to one journal, half of the lines 12 KB long, and are killed at
 * random. No line of a living writer is damaged, nothing that was acknowledged is missing, no id comes twice.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { readJournal } from "../support/data/journal.ts";
import { random } from "../support/data/random.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const NODES = 8;
const SHELLS = 8;
const LONG = 12_000;
/** Of the events, by shells: each costs a few processes. */
const SHELL_PART = 0.2;

/** The content is a name and a number, so that what a shell acknowledged can be found without an id. */
const SHELL = `i=0; while [ $i -lt $2 ]; do i=$((i+1))
  if [ $((i % 2)) -eq 0 ]; then long=$3; else long=; fi
  scripts/log_event.sh $((i % 50)) "$1" note "$1 $i $long" && echo "$1 $i"
done`;

/** `count` events in all. */
export function journalWriters(count: number, seed = 1): Promise<Report> {
  return campaign("writers of one journal (events)", count, seed, async (fail, figures) => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-writers-")));
    const children = new Set<ChildProcess>();
    try {
      using workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, cwd: place });
      workspace.journal.initScripts();
      const next = random(seed);
      const acknowledged = new Set<string>();
      let [kills, torn] = [0, 0];
      const write = async (name: string, most: number, start: () => ChildProcess): Promise<void> => {
        let told = 0;
        for (let life = 0; told < most; life++) {
          const child = start();
          children.add(child);
          const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
          lines.on("line", (line) => {
            acknowledged.add(line);
            told++;
          });
          // Two of three are killed; the whole group, so that a dd in mid-write goes with its shell.
          const killed = next() < 0.66 && life < 20;
          const ended = once(child, "exit");
          const read = once(lines, "close");
          if (killed) {
            await Promise.race([ended, sleep(100 + next() * 900)]);
            if (child.exitCode === null && child.signalCode === null) {
              process.kill(-(child.pid as number), "SIGKILL");
              kills++;
            }
          }
          const [code] = await ended;
          await read;
          children.delete(child);
          if (!killed && code !== 0) fail(`${name} ended with ${code}`);
          if (!killed) break;
        }
      };
      const share = (of: number, writers: number): number => Math.max(2, Math.ceil(of / writers));
      const begun = performance.now();
      await Promise.all([
        ...Array.from({ length: NODES }, (_, i) => {
          const most = share(count * (1 - SHELL_PART), NODES);
          let life = 0;
          return write(`node${i}`, most, () =>
            spawn(
              process.execPath,
              [
                supportFile("worker/journal-writer.ts"),
                workspace.root,
                `node${i}.${life++}`,
                String(most),
                String(LONG),
              ],
              OWN,
            ),
          );
        }),
        ...Array.from({ length: SHELLS }, (_, i) => {
          const most = share(count * SHELL_PART, SHELLS);
          let life = 0;
          return write(`shell${i}`, most, () =>
            spawn("sh", ["-c", SHELL, "sh", `shell${i}.${life++}`, String(most), "x".repeat(LONG)], {
              ...OWN,
              cwd: place,
            }),
          );
        }),
      ]);
      figures["events a second"] = Math.round((acknowledged.size / (performance.now() - begun)) * 1000);
      const { stored, bad } = await readJournal(workspace.root);
      const ids = new Set(stored.map(({ event }) => event.id));
      if (ids.size !== stored.length) fail(`${stored.length - ids.size} ids came twice`);
      const said = new Map<string, number>();
      for (const { event } of stored) {
        const key = event.content.split(" ", 2).join(" ");
        said.set(key, (said.get(key) ?? 0) + 1);
        if (event.content.length > 100 && !/^\S+ \d+ (?:x+|(?:ä→x)+)$/.test(event.content))
          fail(`damaged: ${event.content.slice(0, 80)}`);
      }
      for (const [key, times] of said) if (times > 1) fail(`${key} is there ${times} times`);
      const lost = [...acknowledged].filter((one) => !ids.has(one) && !said.has(one));
      if (lost.length > 0) fail(`${lost.length} acknowledged events are lost: ${lost.slice(0, 5).join(", ")}`);
      // What a killed writer leaves in mid-line is the beginning of a line of ours, never a mixture.
      for (const { bytes, line } of bad) {
        torn++;
        const text = Buffer.from(bytes).toString();
        if (!/^\{"(v":1|interaction)/.test(text) || text.indexOf('{"', 1) > 0)
          fail(`line ${line} is a mixture: ${text.slice(0, 200)}`);
      }
      if (torn > kills) fail(`${torn} torn lines, but only ${kills} writers were killed`);
      const report = await workspace.journal.snapshot();
      if (report.bad_lines !== bad.length)
        fail(`${report.bad_lines} bad lines in the snapshot, ${bad.length} in the journal`);
      Object.assign(figures, { events: stored.length, acknowledged: acknowledged.size, killed: kills, torn });
    } finally {
      for (const { pid } of children) if (pid !== undefined) process.kill(-pid, "SIGKILL");
      rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  });
}
const OWN: SpawnOptions = { stdio: ["ignore", "pipe", "inherit"], detached: true };
