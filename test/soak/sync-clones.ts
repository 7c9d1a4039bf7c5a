/**
 * Two machines, then three, append and sync at the same time, round after round; all but one of them are killed meanwhile, at each
 * step of a sync in turn and at random. In the end every event is on every machine once, in the order of its writer, and the snapshots are the same byte for byte.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { random } from "../support/data/random.ts";
import { Machine } from "../support/net/machine.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const STEPS = ["prepared", "fetched", "imported", "exported", "committed", "pushed", "remembered", "random"] as const;

const MOST = 64 << 20;

type Step = (typeof STEPS)[number];

/** `count` rounds with each number of machines. */
export function syncClones(count: number, seed = 1): Promise<Report> {
  return campaign("machines that sync", count, seed, async (fail, figures) => {
    const steps = forEver();
    for (const machines of [2, 3]) await converge({ machines, count, seed, steps }, fail, figures);
  });
}

function* forEver(): Generator<Step> {
  for (;;) yield* STEPS;
}

interface Plan {
  machines: number;
  count: number;
  seed: number;
  /** Where the next one is killed. */
  steps: Iterator<Step>;
}

async function converge(
  { machines: many, count, seed, steps }: Plan,
  fail: (what: string) => void,
  figures: Report["figures"],
): Promise<void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-sync-")));
  const remote = join(folder, "remote.git");
  const next = random(seed + many);
  const machines = Array.from({ length: many }, (_, i) => new Machine(join(folder, `machine${i}`)));
  const children = new Set<ChildProcess>();
  let interaction = 1;
  let kills = 0;
  const talk = async (machine: Machine): Promise<void> => {
    for (let i = Math.floor(next() * 6); i > 0; i--) {
      if (next() < 0.3) interaction++;
      await machine.say(next() < 0.1 ? Math.ceil(next() * interaction) : interaction, `said ${machine.said.length}`);
    }
  };
  const killed = async (machine: Machine, at: Step): Promise<void> => {
    const child = spawn(process.execPath, [supportFile("worker/sync-at.ts"), join(machine.root, ".."), remote, at], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.add(child);
    const ended = once(child, "exit");
    const reached = new Promise<void>((resolve) => {
      child.stdout.on("data", (part: Buffer) => {
        if (at === "random") setTimeout(resolve, next() * 400);
        else if (part.toString().includes(`at ${at}`)) resolve();
      });
    });
    await Promise.race([ended, reached]);
    if (child.kill("SIGKILL")) kills++;
    await ended;
    children.delete(child);
  };
  try {
    execFileSync("git", ["init", "--quiet", "--bare", remote]);
    for (const round of rounds(count)) {
      const spared = round % many;
      await Promise.all(
        machines.map(async (machine, i) => {
          await talk(machine);
          const [syncing, talking] = [
            i === spared ? machine.sync(remote) : killed(machine, steps.next().value),
            talk(machine),
          ];
          const status = await syncing;
          await talking;
          if (status && status.state !== "ok") fail(`round ${round}: ${JSON.stringify(status)}`);
        }),
      );
      if (next() < 0.3) await machines[0]?.snapshot();
    }
    await sleep(300); // A git that outlived its midwatch is done by then.
    for (let pass = 0; pass < 2; pass++)
      for (const machine of machines) {
        const status = await machine.sync(remote);
        if (status.state !== "ok" || status.waiting > 0) fail(`at the end: ${JSON.stringify(status)}`);
      }
    const said = machines.flatMap((machine) => machine.said);
    const snapshots = await Promise.all(machines.map((machine) => machine.snapshot()));
    const rebuilt = await Promise.all(machines.map((machine) => machine.snapshot(true)));
    for (const [i, machine] of machines.entries()) {
      const ids = (await machine.read()).map(({ event }) => event.id);
      if (new Set(ids).size !== ids.length) fail(`${many} machines: ${i} has events twice`);
      if ([...ids].sort().join() !== [...said].sort().join())
        fail(`${many} machines: ${i} has ${ids.length} events of ${said.length}`);
      for (const writer of machines) {
        const own = new Set(writer.said);
        if (ids.filter((id) => own.has(id)).join() !== writer.said.join()) fail(`${i} has them in another order`);
      }
      if (snapshots[i] !== snapshots[0]) fail(`${many} machines: snapshot ${i} differs from the first`);
      if (rebuilt[i] !== snapshots[i]) fail(`${many} machines: snapshot ${i} differs from a rebuild`);
    }
    const there = ["communication.md", "archive.md"].map((name) =>
      execFileSync("git", ["--git-dir", remote, "show", `midwatch-journal:${name}`], {
        encoding: "utf8",
        maxBuffer: MOST,
      }),
    );
    if (there.join("") !== snapshots[0]) fail(`${many} machines: what the branch shows is not the snapshot`);
    Object.assign(figures, { [`events of ${many}`]: said.length, [`kills of ${many}`]: kills });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    for (const machine of machines) await machine.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}
