/**
 * Three hosts on a hub of three servers, agents that print on each, events written all the time, and three processes that want to lead the
 * fleet. Again and again a server, a host's `midwatch up` or a leader is killed, stands still or is cut off from the others. In the end: what each host wrote is at
 * the hub once and in its order, no acknowledged line of a leader is missing, none was stored behind a later election, every log is
 * whole and every agent ended as it should.
 */
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { JournalEvent } from "../../src/journal/event.ts";
import { ELECTION } from "../../src/journal/term.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { NatsCluster } from "../support/nats-cluster.ts";
import { pick, random } from "../support/random.ts";
import { CLI, Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, percentile, type Report } from "./report.ts";

const FLEET = "chaos";
const TTL_MS = 1000;
const PATIENCE_MS = 90_000;
const LINES = 300;
const FAULTS = [
  ...["server killed", "server stands still", "server cut off", "host killed", "host stands still", "host cut off"],
  ...["leader killed", "leader stands still", "leader stands still"],
] as const;

export function fleetChaos(rounds: number, seed = 1, agentsEach = 10): Promise<Report> {
  return campaign("faults of a fleet", rounds, seed, async (fail, figures) => {
    const next = random(seed);
    await using hub = await NatsCluster.start();
    const engine = new NatsEngine({
      servers: hub.urls,
      monitors: hub.monitors,
      name: "judge",
      fleet: FLEET,
      origin: "judge",
    });
    const hosts = await Promise.all(["alpha", "beta", "gamma"].map((name) => Host.start(name, hub, agentsEach)));
    const leaders: Candidate[] = [];
    const took: number[] = [];
    try {
      await until(
        () =>
          engine
            .append([])
            .then(() => engine.tail(1))
            .then(
              () => true,
              () => false,
            ),
        PATIENCE_MS,
        "the hub is up",
      );
      for (let i = 0; i < 3; i++) leaders.push(new Candidate(hosts[i]?.lab as Lab, hub.urls));
      await until(() => leaders.some(({ acked }) => acked.size > 0), PATIENCE_MS, "somebody leads");
      for (let round = 0; round < rounds; round++) {
        const fault = pick(next, FAULTS);
        const leading = await leadingOf(engine, leaders);
        const server = pick(next, hub.servers);
        const host = pick(next, hosts);
        const still = 500 + Math.floor(next() * 2500);
        if (fault === "server killed") {
          await server.kill();
          await sleep(still);
          await server.up();
        } else if (fault === "server stands still") {
          server.signal("SIGSTOP");
          await sleep(still);
          server.signal("SIGCONT");
        } else if (fault === "server cut off") {
          // Long enough for the others to notice and to choose other leaders.
          const cut = hub.partition(hub.servers.indexOf(server));
          await sleep(8000 + still);
          cut.mend();
        } else if (fault === "host cut off") {
          host.network.cut();
          await sleep(still * 2);
          host.network.mend();
        } else if (fault === "host killed") {
          host.up.kill("SIGKILL");
          await sleep(still);
          host.begin();
        } else if (fault === "host stands still") {
          host.up.kill("SIGSTOP");
          await sleep(still);
          host.up.kill("SIGCONT");
        } else if (leading !== undefined) {
          const begun = performance.now();
          leading.child.kill(fault === "leader killed" ? "SIGKILL" : "SIGSTOP");
          await until(
            async () => ![undefined, leading].includes(await leadingOf(engine, leaders)),
            PATIENCE_MS,
            "another leads",
          );
          took.push(performance.now() - begun);
          if (fault === "leader killed") leaders[leaders.indexOf(leading)] = new Candidate(host.lab, hub.urls, leading);
          else leading.child.kill("SIGCONT");
        }
        await sleep(300);
      }
      await Promise.all(leaders.map((one) => one.end()));
      for (const host of hosts) await host.settle(fail);
      const stored = await settled(async () => await judge(engine, hosts, leaders), PATIENCE_MS, fail);
      Object.assign(figures, stored, {
        "follows a leader, in times of the lease, median": (percentile(took, 0.5) / TTL_MS).toFixed(2),
        "follows a leader, in times of the lease, p99": (percentile(took, 0.99) / TTL_MS).toFixed(2),
      });
    } finally {
      await engine.close();
      for (const { child } of leaders) child.kill("SIGKILL");
      for (const host of hosts) await host.lab.end();
    }
  });
}

async function leadingOf(engine: NatsEngine, leaders: readonly Candidate[]): Promise<Candidate | undefined> {
  const found = await engine.get<{ holder: string } | null>("leases/leader").catch(() => undefined);
  return leaders.find(({ name }) => name !== "" && name === found?.value?.holder);
}

/** A machine: a workspace with its `up`, agents that print, and somebody who writes events. */
class Host {
  readonly lab = new Lab();
  readonly name: string;
  readonly network: Awaited<ReturnType<NatsCluster["network"]>>;
  readonly #agents: string[] = [];
  readonly #writing = new AbortController();
  up: ChildProcess;

  private constructor(name: string, network: Host["network"]) {
    this.name = name;
    this.network = network;
    this.up = this.begin();
  }

  static async start(name: string, hub: NatsCluster, agents: number): Promise<Host> {
    const host = new Host(name, await hub.network());
    const script = `i=0; while [ $i -lt ${LINES} ]; do echo line $i; i=$((i+1)); sleep 0.05; done`;
    for (let i = 0; i < agents; i++) host.#agents.push((await host.lab.sh(script)).agent);
    void host.#write();
    return host;
  }

  begin(): ChildProcess {
    process.env["MIDWATCH_NATS_FLEET"] = FLEET;
    const args = ["--no-http", "--join", this.network.urls.join(","), "--name", this.name, "--leader-ttl", "1s"];
    this.up = this.lab.node(CLI, "up", "--workspace", this.lab.root, ...args);
    delete process.env["MIDWATCH_NATS_FLEET"];
    this.up.stderr?.resume();
    this.up.stdout?.resume();
    return this.up;
  }

  async #write(): Promise<void> {
    for (let n = 0; !this.#writing.signal.aborted; n++) {
      await this.lab.workspace.event({ interaction: 1, actor: this.name, type: "note", content: String(n) });
      await sleep(5 + (n % 20));
    }
  }

  /** Its agents have ended with everything they printed. */
  async settle(fail: (what: string) => void): Promise<void> {
    this.#writing.abort();
    const expected = Array.from({ length: LINES }, (_, i) => `line ${i}\n`).join("");
    for (const record of await this.lab.workspace.wait(this.#agents, { timeoutMs: PATIENCE_MS })) {
      if (record.outcome !== "completed") fail(`${this.name}/${record.agent} is ${record.outcome ?? record.phase}`);
      if ((await this.lab.raw(record.agent)).toString() !== expected)
        fail(`the log of ${this.name}/${record.agent} is not whole`);
      const [report] = await this.lab.workspace.stop([record.agent]);
      if (report?.verified !== true || !report.already_stopped)
        fail(`the report of ${record.agent}: ${JSON.stringify(report)}`);
    }
  }

  /** What this machine has in its own journal. */
  async own(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { event } of this.lab.workspace.events()) ids.push(event.id);
    return ids;
  }
}

class Candidate {
  readonly child: ChildProcess;
  readonly acked: Set<string>;
  name = "";
  refused = 0;

  /** With `before` it takes the place of one that was killed, and keeps its account. */
  constructor(lab: Lab, urls: readonly string[], before?: Candidate) {
    this.acked = before?.acked ?? new Set();
    this.refused = before?.refused ?? 0;
    this.child = lab.node(supportFile("nats-leader-worker.ts"), urls.join(","), FLEET, String(TTL_MS));
    this.child.stderr?.resume();
    this.child.on(
      "message",
      ({ name, acked = [], refused = 0 }: { name?: string; acked?: string[]; refused?: number }) => {
        if (name !== undefined) this.name = name;
        for (const id of acked) this.acked.add(id);
        this.refused += refused;
      },
    );
  }

  async end(): Promise<void> {
    if (this.child.connected) this.child.send("end");
    await until(() => this.child.exitCode !== null || this.child.signalCode !== null, PATIENCE_MS, "a candidate ends");
  }
}

/** Tried until nothing is wrong or the time is up: hosts that were killed last have to catch up. */
async function settled(
  look: () => Promise<{ wrong: string[]; figures: Record<string, number> }>,
  ms: number,
  fail: (what: string) => void,
): Promise<Record<string, number>> {
  for (const deadline = performance.now() + ms; ; await sleep(500)) {
    const { wrong, figures } = await look().catch((error: unknown) => ({ wrong: [String(error)], figures: {} }));
    if (wrong.length > 0 && performance.now() < deadline) continue;
    for (const what of wrong) fail(what);
    return figures;
  }
}

async function judge(
  engine: NatsEngine,
  hosts: readonly Host[],
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
