/**
 * Many agents that have ended, half of them on tasks of their own and half on one task in which another stays: `up --once` takes them to the
 * trash, tells it once, and `prune --undo` brings all of them back as they were.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { counts } from "../support/data/events.ts";
import { unseen } from "../support/data/unseen.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

export function retention(count: number, seed = 0): Promise<Report> {
  return campaign("retention", count, seed, async (fail, figures) => {
    const lab = new Lab();
    const timed = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
      const begun = performance.now();
      const done = await act();
      figures[`${what}, ms`] = Math.round(performance.now() - begun);
      return done;
    };
    const agents = async (): Promise<string[]> =>
      (await lab.workspace.runs.list({ all: true })).map(({ agent }) => agent).sort();
    const settings = async (text: string): Promise<void> => {
      writeFileSync(join(lab.folder, "midwatch.config.json"), text);
      if ((await lab.cli("trust")).code !== 0) fail("trust");
    };
    try {
      const first = await lab.sh("echo done");
      await lab.workspace.runs.wait([first.agent]);
      unseen(lab.root, first, count / 2);
      unseen(lab.root, first, count / 2, "command", true);
      await timed("cleaned up and sealed", () => lab.workspace.runs.reap());
      lab.workspace.files.pin(first.agent);
      const before = await agents();
      if (before.length !== count + 1) fail(`${before.length} agents of ${count + 1}`);
      await settings('{"prune_after": "1s"}');
      await new Promise((resolve) => setTimeout(resolve, 1001));
      const up = await timed("up --once", () => lab.cli("up", "--once"));
      if (up.code !== 0) fail(`up: ${up.stderr}`);
      const left = await agents();
      if (left.length !== 1 || left[0] !== first.agent) fail(`${left.length} are left`);
      const trashed = readdirSync(join(lab.root, "trash")).length;
      if (trashed !== count) fail(`${trashed} in the trash`);
      const undo = await timed("prune --undo", () => lab.cli("prune", "--undo"));
      if (undo.code !== 0) fail(`undo: ${undo.stderr}`);
      const back = await agents();
      if (back.join() !== before.join()) fail(`${back.length} are back`);
      const told = counts(lab);
      if (told["prune.trashed"] !== 1 || told["prune.restored"] !== 1) fail(`told: ${JSON.stringify(told)}`);
    } finally {
      await lab.end();
    }
  });
}
