/** `run --journal turns`: each turn is in the journal as it ends, once, whoever watches and is killed meanwhile. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { JournalEvent } from "../../src/journal/event.ts";
import { CompanionLab } from "../support/companion.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, lives, text, until } from "../support/workspace.ts";

const WAIT_MS = 60_000;

/** A CLI that says 0, 1, 2, ... one each `everyMs`, until there is a file `enough`; what it said last is its exit's business. */
function talker(at: Lab, everyMs: number): void {
  const program = join(at.folder, "talker");
  const script = `#!/bin/sh
n=0
while [ ! -e '${at.folder}/enough' ]; do
  echo "{\\"say\\":\\"turn $n\\"}"
  n=$((n + 1))
  sleep ${everyMs / 1000}
done
echo $n >'${at.folder}/said'
`;
  writeFileSync(program, script, { mode: 0o755 });
  writeConfig(at.folder, { drivers: { talker: { program, json: true, text: "say" } } });
}

/** As the lines of the file, not as readers see them: a copy would be one too many. */
function turns(at: Lab): JournalEvent[] {
  const lines = text(join(at.root, "events.log")).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEvent).filter(({ type }) => type === "turn");
}

function allOf(at: Lab): string[] {
  const said = Number(text(join(at.folder, "said")));
  expect(said).toBeGreaterThan(0);
  return Array.from({ length: said }, (_, n) => `turn ${n}`);
}

it("R-003.7, R-003.24: a turn is in the journal before the agent ends; `midwatch up` is killed 8 times meanwhile: none is lost, none is there twice", async () => {
  const at = lab();
  talker(at, 50);
  const { runs, journal } = at.open(); // Since then it has the driver.
  const { agent } = await runs.start({ driver: "talker", prompt: "talk", journal: "turns" });
  for (let round = 0; round < 8; round++) {
    const before = turns(at).length;
    const up = at.node(CLI, "up", "--no-http", "--workspace", at.root);
    await until(() => turns(at).length > before, WAIT_MS, "a turn is told while it talks");
    await sleep(round * 40); // Somewhere between two of its rounds, or in one.
    up.kill("SIGKILL");
    await until(() => up.signalCode !== null, WAIT_MS);
  }
  expect((await runs.show(agent)).phase).toBe("running");
  await journal.append({ interaction: 77, actor: "A", type: "note", content: "in between" });
  // What nobody saw, the clean-up tells: as the same conversation.
  writeFileSync(join(at.folder, "enough"), "");
  await runs.wait([agent]);
  expect(turns(at).map(({ content }) => content)).toEqual(allOf(at));
  expect(new Set(turns(at).map(({ interaction }) => interaction)).size).toBe(1);
  expect(new Set(turns(at).map(({ id }) => id)).size).toBe(turns(at).length);
});

it("R-003.7: two that watch at once, and one that cleans up, tell each turn once", async () => {
  const at = lab();
  talker(at, 20);
  const { runs } = at.open();
  const { agent } = await runs.start({ driver: "talker", prompt: "talk", journal: "turns" });
  const watchers = [1, 2, 3].map(() => at.node(CLI, "watch", "--workspace", at.root));
  await until(() => turns(at).length > 100, WAIT_MS);
  writeFileSync(join(at.folder, "enough"), "");
  await runs.wait([agent]);
  expect(turns(at).map(({ content }) => content)).toEqual(allOf(at));
  for (const one of watchers) one.kill("SIGKILL");
});

it("R-003.7: without `up` the companion comes with such a run, tells its turns, comes back when it was killed, and goes", async () => {
  const at = new CompanionLab();
  onTestFinished(() => at.end(), patient(60_000));
  talker(at, 100);
  const { agent } = await at.json<{ agent: string }>(
    "run",
    "--json",
    "--driver",
    "talker",
    "--journal",
    "turns",
    "talk",
  );
  for (let round = 0; round < 2; round++) {
    const companion = await at.comes();
    const before = turns(at).length;
    await until(() => turns(at).length > before + 2, WAIT_MS, "the companion tells turns");
    process.kill(companion.pid, "SIGKILL");
    await until(() => !lives(companion), WAIT_MS);
  }
  await at.comes();
  writeFileSync(join(at.folder, "enough"), "");
  await until(async () => (await at.show(agent)).outcome !== null, WAIT_MS);
  await until(() => existsSync(join(at.folder, "said")), WAIT_MS);
  await until(() => turns(at).length >= allOf(at).length, WAIT_MS);
  expect(turns(at).map(({ content }) => content)).toEqual(allOf(at));
  await at.isGone();
});
