/**
 * Three hosts on a hub of three servers, agents that print on each, events written all the time, and three processes that want to lead the
 * fleet. Again and again a server, a host's `midwatch up` or a leader is killed, stands still or is cut off, or the network is split; where
 * root allows in a network of its own, each machine at a place of it. In the end: what each host wrote is at the hub once and in its
 * order, no acknowledged line of a leader is missing, none was stored behind a later election, every log is whole, every agent ended as
 * it should, and every Report of a stop from another machine is right.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JournalEvent } from "../../src/journal/event.ts";
import { ELECTION } from "../../src/journal/term.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { natsInit } from "../../src/setup/nats-init.ts";
import { pick, random } from "../support/data/random.ts";
import { Candidate, ChaosHost, FLEET } from "../support/nats/chaos-host.ts";
import { Lan } from "../support/nats/lan.ts";
import { NatsCluster } from "../support/nats/nats-cluster.ts";
import { patient } from "../support/patience.ts";
import { until } from "../support/workspace.ts";
import { campaign, percentile, type Report } from "./report.ts";

/** Half of what it is by default. */
const TTL_MS = 5000;
const PATIENCE_MS = 90_000;
const NAMES = ["alpha", "beta", "gamma"];
const FAULTS = [
  ...["leader stands still", "host cut off", "server killed", "network split", "host killed", "leader killed"],
  ...["server stands still", "host stands still", "server cut off"],
] as const;

interface Fleet {
  hub: NatsCluster;
  engine: NatsEngine;
  hosts: readonly ChaosHost[];
  leaders: Candidate[];
  /** File with the seed of people's key. */
  people: string;
  took: number[];
}

/** For this many seconds. */
export function fleetChaos(seconds: number, seed = 1, agentsEach = 10): Promise<Report> {
  return campaign("seconds of faults of a fleet", seconds, seed, async (fail, figures) => {
    const next = random(seed);
    const folder = mkdtempSync(join(tmpdir(), "midwatch-chaos-"));
    const keys = await natsInit({ folder, fleet: FLEET, hosts: NAMES, listen: "127.0.0.1:4222" });
    const rights = readFileSync(keys.config, "utf8");
    const lan = Lan.open();
    await using hub = await NatsCluster.start({ lan, more: rights.slice(rights.indexOf("accounts {")) });
    const judge = { name: "judge", fleet: FLEET, origin: "judge", nkey: keys.people, people: [keys.people_key] };
    const engine = new NatsEngine({ servers: hub.urls, ...judge });
    const hosts: ChaosHost[] = [];
    const leaders: Candidate[] = [];
    const fleet: Fleet = { hub, engine, hosts, leaders, people: keys.people, took: [] };
    const counts: Record<string, number> = {};
    try {
      const isUp = (): Promise<boolean> => engine.tail(1).then(...yesOrNo);
      await until(isUp, PATIENCE_MS, "the hub is up");
      for (const { host, nkey } of keys.hosts)
        hosts.push(
          await ChaosHost.start(host, { network: await hub.network(), nkey, people: keys.people_key }, agentsEach),
        );
      for (const host of hosts) leaders.push(new Candidate(host, keys.people, TTL_MS));
      await until(() => leaders.some(({ acked }) => acked.size > 0), PATIENCE_MS, "somebody leads");
      let bag: (typeof FAULTS)[number][] = [];
      for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(300)) {
        if (bag.length === 0) bag = [...FAULTS];
        const [fault] = bag.splice(Math.floor(next() * bag.length), 1) as [(typeof FAULTS)[number]];
        counts[fault] = (counts[fault] ?? 0) + 1;
        await strike(fault, fleet, next);
      }
      await Promise.all(leaders.map((one) => one.end()));
      for (const [i, host] of hosts.entries()) {
        const other = hosts[(i + 1) % hosts.length] as ChaosHost;
        await host.settle(other, keys.people, (what) => fail(what));
      }
      const stored = await settled(async () => await verdict(engine, hosts, leaders), PATIENCE_MS, fail);
      Object.assign(figures, { network: lan === undefined ? "wires" : "namespaces" }, counts, stored, {
        "follows a leader that stands still, in times of the lease, median": (
          percentile(fleet.took, 0.5) / TTL_MS
        ).toFixed(2),
        "follows a leader that stands still, in times of the lease, p99": (
          percentile(fleet.took, 0.99) / TTL_MS
        ).toFixed(2),
      });
    } finally {
      await engine.close();
      for (const { child } of leaders) child.kill("SIGKILL");
      for (const host of hosts) await host.lab.end().catch((error: unknown) => fail(String(error)));
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

const yesOrNo = [() => true, () => false] as const;

async function strike(fault: (typeof FAULTS)[number], fleet: Fleet, next: () => number): Promise<void> {
  const { hub, hosts } = fleet;
  const server = pick(next, hub.servers);
  const host = pick(next, hosts);
  const [number, still] = [hub.servers.indexOf(server), 500 + Math.floor(next() * 2500)];
  // Cut off long enough for the others to notice and to choose other leaders.
  const long = 8000 + still;
  const during = async (ms: number, mend: () => unknown): Promise<void> => {
    await sleep(ms);
    await mend();
  };
  if (fault === "server killed") {
    await server.kill();
    await during(still, () => server.up());
  } else if (fault === "server stands still") {
    server.signal("SIGSTOP");
    await during(still, () => server.signal("SIGCONT"));
  } else if (fault === "server cut off") {
    const cut = hub.isolate(number);
    await during(long, () => cut.mend());
  } else if (fault === "network split") {
    const cut = hub.partition(number, hosts.indexOf(host));
    await during(long, () => cut.mend());
  } else if (fault === "host cut off") {
    host.network.cut();
    await during(still * 2, () => host.network.mend());
  } else if (fault === "host killed") {
    host.up.kill("SIGKILL");
    await during(still, () => host.begin());
  } else if (fault === "host stands still") {
    host.up.kill("SIGSTOP");
    await during(still, () => host.up.kill("SIGCONT"));
  } else await strikeLeader(fault === "leader killed", fleet);
}

/** How long nobody leads is measured: from the fault until another one does. */
async function strikeLeader(isKill: boolean, { engine, hosts, leaders, people, took }: Fleet): Promise<void> {
  const leadingOf = async (): Promise<Candidate | undefined> => {
    const found = await engine.get<{ holder: string } | null>("leases/leader").catch(() => undefined);
    return leaders.find(({ name }) => name !== "" && name === found?.value?.holder);
  };
  const alive = (one: Candidate | undefined): boolean => one !== undefined && one.child.exitCode === null;
  await until(async () => alive(await leadingOf()), PATIENCE_MS, "somebody leads");
  const leading = await leadingOf();
  if (leading === undefined) return;
  const begun = performance.now();
  leading.child.kill(isKill ? "SIGKILL" : "SIGSTOP");
  await until(async () => ![undefined, leading].includes(await leadingOf()), PATIENCE_MS, "another leads");
  // That a process is gone is seen at once on one machine, as all of these are: only the other fault takes as long as between machines.
  if (!isKill) took.push(performance.now() - begun);
  const at = leaders.indexOf(leading);
  if (isKill) leaders[at] = new Candidate(hosts[at] as ChaosHost, people, TTL_MS, leading);
  else leading.child.kill("SIGCONT");
}

/** Tried until nothing is wrong or the time is up: hosts that were killed last have to catch up. */
async function settled(
  look: () => Promise<{ wrong: string[]; figures: Record<string, number> }>,
  ms: number,
  fail: (what: string) => void,
): Promise<Record<string, number>> {
  for (const deadline = performance.now() + patient(ms); ; await sleep(500)) {
    const { wrong, figures } = await look().catch((error: unknown) => ({ wrong: [String(error)], figures: {} }));
    if (wrong.length > 0 && performance.now() < deadline) continue;
    for (const what of wrong) fail(what);
    return figures;
  }
}

async function verdict(
  engine: NatsEngine,
  hosts: readonly ChaosHost[],
  leaders: readonly Candidate[],
): Promise<{ wrong: string[]; figures: Record<string, number> }> {
  const wrong: string[] = [];
  const stored: JournalEvent[] = [];
  for await (const item of engine.read()) if ("event" in item) stored.push(item.event);
  let own = 0;
  for (const host of hosts) {
    const ids = await host.own();
    const there = stored.filter(({ origin }) => origin === host.name).map(({ id }) => id);
    own += ids.length;
    if (ids.join() !== there.join())
      wrong.push(`${host.name} wrote ${ids.length}, the hub has ${there.length} of it, or in another order`);
  }
  const ofLeaders = stored.filter(({ origin }) => origin === undefined);
  const counts = new Map<string, number>();
  for (const { id } of ofLeaders) counts.set(id, (counts.get(id) ?? 0) + 1);
  const twice = [...counts.values()].filter((count) => count > 1).length;
  if (twice > 0) wrong.push(`${twice} lines of leaders are there twice`);
  const acked = leaders.flatMap((one) => [...one.acked]);
  const lost = acked.filter((id) => !counts.has(id)).length;
  if (lost > 0) wrong.push(`${lost} of ${acked.length} acknowledged lines of leaders are lost`);
  let term = 0;
  for (const event of ofLeaders) {
    if (event.type === ELECTION) {
      if ((event.term ?? 0) <= term) wrong.push(`the election of term ${event.term} behind that of ${term}`);
      term = event.term ?? 0;
    } else if (event.term !== undefined && event.term !== term)
      wrong.push(`a line of term ${event.term} in term ${term}`);
  }
  const refused = leaders.reduce((sum, one) => sum + one.refused, 0);
  return {
    wrong,
    figures: {
      "events of hosts": own,
      "lines of leaders": acked.length,
      terms: term,
      "refused by the server": refused,
    },
  };
}
