/** An agent leads, by `midwatch lead`: it gets a name and a term, and nothing that it may not otherwise. */
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { CompanionLab } from "../support/companion.ts";
import { gather } from "../support/data/journal.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { Puppets } from "../support/puppet.ts";
import { CLI, until } from "../support/workspace.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const WAIT_MS = 60_000;

it("an agent that leads is told under its own name, is refused what it was refused before, and no person's `up` obeys it", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const puppet = await puppets.start({ permission: "plan" });
  const victim = await at.run("sleep", "600");
  await puppet.sh(`'${process.execPath}' '${CLI}' lead --leader-ttl 10m >/dev/null 2>&1 &`);
  await until(async () => (await at.workspace.up.health()).elections.length === 1, WAIT_MS);
  const { journal, runs, up } = at.workspace;
  expect((await up.health()).elections).toMatchObject([{ actor: puppet.agent, term: 1 }]);
  await until(async () => (await gather(journal.events({ type: "heartbeat" }))).length > 0, WAIT_MS);
  for await (const { event } of journal.events({ type: "heartbeat" })) expect(event.actor).toBe(puppet.agent);
  const asked = [
    ["stop", victim.agent],
    ["restart", victim.agent],
    ["task", "a task of mine"],
    ["budget", "raise", "day", "900"],
    ["prune", "--older", "1d"],
    ["run", "--permission", "all", "--", "true"],
    ["event", "1", "midwatch", "leader_election", "me"],
    ["event", "1", "midwatch", "error", "me"],
    ["health", "--resume"],
  ];
  for (const words of asked) {
    const { code, stderr } = await puppet.midwatch(...words);
    expect([words, code, stderr]).toEqual([words, 4, expect.stringMatching(/REFUSED_(RIGHT|TYPE)/)]);
  }
  // What it says by itself has no term, so nobody takes it for a leader's.
  expect((await puppet.midwatch("event", "0", "x", "heartbeat", "I lead", "--data", '{"term":9}')).code).toBe(0);
  const said = await gather(journal.events({ actor: puppet.agent }));
  expect(said.find(({ event }) => event.content === "I lead")?.event.term).toBeUndefined();
  // A person's `up` is not the leader, and starts what waits all the same; another's lead does not take its place either.
  const ending = new AbortController();
  const terms: (number | null)[] = [];
  const house = (async () => {
    for await (const { term } of up.keep({ signal: ending.signal, tell: () => undefined })) terms.push(term);
  })();
  const queued = await runs.start({ argv: ["true"], queue: true });
  await until(async () => (await runs.show(queued.agent)).outcome === "completed", WAIT_MS);
  expect(new Set(terms)).toEqual(new Set([null]));
  expect(await journal.leader()).toMatchObject({ state: "held", term: 1 });
  ending.abort();
  await house;
  expect((await runs.show(victim.agent)).phase).toBe("running");
});

it("an agent of another workspace does not lead this one", async () => {
  const at = lab();
  const other = lab();
  const puppet = await new Puppets(at).start({ permission: "edit" });
  const { code, stderr } = await puppet.midwatch("--workspace", other.root, "lead", "--timeout", "1s");
  expect([code, stderr]).toEqual([4, expect.stringContaining("is an agent of another workspace")]);
  expect((await other.workspace.journal.leader()).state).toBe("none");
});

it("an agent that leads, and stands still, keeps no limit of cost from being kept: the companion comes and does its rounds", async () => {
  const at = new CompanionLab();
  onTestFinished(() => at.end(), patient(60_000));
  const lead = `'${process.execPath}' '${CLI}' lead --leader-ttl 10m --json`;
  const leads = await at.json<RunRecord>("run", "--json", "--", "sh", "-c", lead);
  await until(async () => (await at.workspace.journal.leader()).state === "held", WAIT_MS);
  process.kill((await at.workspace.journal.leader()).pid as number, "SIGSTOP");
  const { agent } = await at.loops("--limit-cost", "0.05");
  await until(async () => (await at.show(agent)).watched_by.by === "companion", WAIT_MS, "the companion watches");
  at.go();
  await until(async () => (await at.show(agent)).outcome !== null, WAIT_MS, "it ends");
  expect(await at.show(agent)).toMatchObject({ outcome: "limit" });
  expect(await at.workspace.journal.leader()).toMatchObject({ term: 1, holder: expect.stringMatching(/^lead-/) });
  await at.midwatch("stop", leads.agent);
  await at.isGone();
});
