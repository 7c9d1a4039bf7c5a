/** Runs whose facts somebody changed, beside runs that are sound: nothing that is asked about the others may go wrong, and nothing fails inside. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { toMidwatchError } from "../../src/core/errors.ts";
import { newAgentId } from "../../src/core/ids.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { type FactCase, type Facts, factCases } from "../support/data/fact-cases.ts";
import { random } from "../support/data/random.ts";
import { Lab, lives } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

/** Of the facts that an ended run does not have, as their writers would write them. */
const AT = "2026-01-01T00:00:00.000Z";
const MORE: Facts = {
  "stop.json": { v: 1, reason: "x", by: { pid: 1, uid: 0 }, grace_ms: 0, requested_at: AT, tries: 1 },
  "hold.json": { why: "disk", since: AT },
  "limit.json": { v: 1, limit: "tokens", reason: "x", at: AT },
  "stuck.json": { left: [{ pid: 4194303, name: "x", uid: 0, why: "alive" }], since: AT },
  "adopt.json": { by: "adopter", pid: 4194303, start_ticks: 1, nonce: "0".repeat(32), at: AT },
};
/** A lost run has none of these; each is taken over by a keeper of its own, so there are fewer. */
const ENDED = ["exit.json", "done.json", "cleanup.json"];
const BATCH = 60;
/** So many stand in one workspace: whoever looks for a run looks at all that are not proven to be over. */
const WORKSPACE = 600;
/** Of so many runs one is lost, and one is sealed. */
const LOST_OF = 6;
const SEALED_OF = 3;

export function factFuzz(count: number, seed = 1): Promise<Report> {
  return campaign("fact fuzz", count, seed, async (fail, figures) => {
    figures["runs"] = 0;
    for (let from = 0; from < count; from += WORKSPACE) await inOne(from, Math.min(count, from + WORKSPACE));

    async function inOne(from: number, to: number): Promise<void> {
      const lab = new Lab();
      try {
        const sound = await lab.sh("echo fine");
        await lab.workspace.runs.wait([sound.agent]);
        const template = read(lab, sound);
        const cases = shuffled(factCases({ ...template, ...MORE }), seed);
        figures["different cases"] = cases.length;
        for (let done = from; done < to; done += BATCH) {
          const batch = Array.from({ length: Math.min(BATCH, to - done) }, (_, i) => {
            const one = cases[(done + i) % cases.length] as FactCase;
            // The second time round two facts of a run are wrong.
            const more = done + i < cases.length ? [] : [cases[(done + i * 7 + 1) % cases.length] as FactCase];
            const how = { lost: i % LOST_OF === 0, sealed: i % SEALED_OF === 1 };
            return { agent: plant(lab, sound, template, [one, ...more], how), wrong: [one, ...more] };
          });
          await look(lab, sound, batch, (what) => fail(`runs from ${done} of seed ${seed}: ${what}`));
        }
        figures["runs"] = to;
      } finally {
        takeAway(lab);
        await lab.end();
      }
    }
  });
}

function read(lab: Lab, record: RunRecord): Facts {
  const { facts } = JSON.parse(readFileSync(lab.sealed(record), "utf8")) as { facts: Facts };
  return Object.fromEntries(Object.entries(facts).filter(([name]) => name !== "secrets.json"));
}

function shuffled(cases: FactCase[], seed: number): FactCase[] {
  const next = random(seed);
  return cases
    .map((one) => ({ one, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** One more run of the same task, as found on disk by whoever looks next. */
function plant(
  lab: Lab,
  { task, agent }: RunRecord,
  template: Facts,
  wrong: readonly FactCase[],
  { lost, sealed }: { lost: boolean; sealed: boolean },
): string {
  const id = newAgentId("fuzz");
  const nonce = newAgentId("x").slice(-6).repeat(6).slice(0, 32);
  const dir = join(lab.root, task, "runs", id, "1");
  const own = (text: string): string =>
    text.replaceAll(agent, id).replaceAll((template["intent.json"] as { nonce: string }).nonce, nonce);
  const facts = new Map(Object.entries(template).map(([name, fact]) => [name, JSON.stringify(fact)]));
  if (lost) for (const name of ENDED) facts.delete(name);
  for (const { fact, text } of wrong) facts.set(fact, text);
  mkdirSync(sealed ? dirname(dir) : dir, { recursive: true });
  if (sealed) {
    const inside = [...facts].map(([name, text]) => `${JSON.stringify(name)}:${own(text)}`);
    writeFileSync(`${dir}.json`, `{"v":1,"facts":{${inside.join()}}}\n`);
  } else for (const [name, text] of facts) writeFileSync(join(dir, name), own(`${text}\n`));
  writeFileSync(join(lab.root, "active", `${id}.1`), `${task}/runs/${id}/1\n`);
  return id;
}

/** What was planted cannot always be proven to be over: it never was. */
function takeAway(lab: Lab): void {
  for (const path of globSync(["active/fuzz-*", "*/runs/fuzz-*", "midwatch.db*"], { cwd: lab.root }))
    rmSync(join(lab.root, path), { recursive: true });
}

interface Planted {
  agent: string;
  wrong: readonly FactCase[];
}

async function look(
  lab: Lab,
  sound: RunRecord,
  batch: readonly Planted[],
  fail: (what: string) => void,
): Promise<void> {
  const other = await lab.run("sleep", "1000");
  const { keeper } = lab.startFact(other);
  const { workspace } = lab;
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      const { code, message } = toMidwatchError(error);
      // Of a damaged run a refusal is right; of anything else nothing is.
      if (code === "INTERNAL" || !what.startsWith("bad")) fail(`${what}: ${code} ${(error as Error).stack ?? message}`);
    }
  };
  const right = (what: string, is: unknown, wanted: unknown): void => {
    if (JSON.stringify(is) !== JSON.stringify(wanted))
      fail(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
  };
  const list = async (): Promise<void> => {
    const all = await workspace.runs.list({ all: true });
    const phases = [sound, other].map(({ agent }) => all.find((one) => one.agent === agent)?.phase);
    right("ls", phases, ["drained", "running"]);
  };
  await attempt("ls", list);
  await attempt("show", async () => right("show", (await workspace.runs.show(other.agent)).phase, "running"));
  await attempt("wait", async () => void (await workspace.runs.wait([sound.agent])));
  await attempt("dry reap", async () => void (await workspace.runs.reap({ dryRun: true })));
  for (const { agent, wrong } of batch) {
    const named = wrong.map(({ fact, what }) => `${fact} ${what}`).join(", ");
    await attempt(`bad show of ${named}`, async () => void (await workspace.runs.show(agent)));
  }
  const { code, stderr } = await lab.cli("up", "--once");
  if (code !== 0 || stderr.includes("INTERNAL")) fail(`up --once: ${code} ${stderr}`);
  await attempt("reap", async () => void (await workspace.runs.reap()));
  await attempt("ls again", list);
  for (const { agent, wrong } of batch.slice(0, 10)) {
    const named = wrong.map(({ fact, what }) => `${fact} ${what}`).join(", ");
    await attempt(`bad stop of ${named}`, async () => void (await workspace.runs.stop([agent], { graceMs: 0 })));
  }
  await attempt("stop", async () => {
    const reports = await workspace.runs.stop([other.agent, ...batch.slice(10, 20).map(({ agent }) => agent)], {
      graceMs: 0,
    });
    right("stop", [reports[0]?.verified, reports[0]?.left], [true, []]);
  });
  if (lives(keeper)) await attempt("keeper", async () => right("its keeper", lives(keeper), false));
  const errors = readFileSync(join(lab.root, "events.log"), "utf8")
    .split("\n")
    .filter((line) => line.includes("INTERNAL"));
  if (errors.length > 0) fail(`events.log: ${errors[0]}`);
}
