/** A machine of a fleet under faults: a workspace with its `up`, agents that print, and somebody who writes events. */
import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI, type Ended, ended, Lab, supportFile, until } from "../workspace.ts";
import type { HostNetwork } from "./nats-cluster.ts";

export const FLEET = "chaos";
const PATIENCE_MS = 90_000;
const parse = (line: string): unknown => JSON.parse(line);

export interface Hub {
  network: HostNetwork;
  /** File with the seed of the key. */
  nkey: string;
  /** Public key of people. */
  people: string;
}

export class ChaosHost {
  readonly lab = new Lab();
  readonly name: string;
  readonly network: HostNetwork;
  readonly #nkey: string;
  readonly #people: string;
  readonly #agents: string[] = [];
  readonly #over: string;
  readonly #writing = new AbortController();
  readonly #written: Promise<void>;
  up: ChildProcess;

  private constructor(name: string, { network, nkey, people }: Hub) {
    this.#people = people;
    this.name = name;
    this.network = network;
    this.#nkey = nkey;
    this.#over = join(this.lab.folder, "over");
    this.up = this.begin();
    this.#written = this.#write();
  }

  static async start(name: string, hub: Hub, agents: number): Promise<ChaosHost> {
    const host = new ChaosHost(name, hub);
    const script = `i=0; while [ ! -e '${host.#over}' ]; do echo line $i; i=$((i+1)); sleep 0.5; done; echo end $i`;
    for (let i = 0; i < agents; i++) host.#agents.push((await host.lab.sh(script)).agent);
    return host;
  }

  begin(): ChildProcess {
    const args = ["--no-http", "--join", this.network.urls.join(","), "--name", this.name, "--leader-ttl", "2s"];
    this.up = this.spawn(this.#nkey, CLI, "up", "--workspace", this.lab.root, ...args);
    this.up.stderr?.resume();
    this.up.stdout?.resume();
    return this.up;
  }

  /** `node FILE ARGS` at this place, with this key. */
  spawn(nkey: string, file: string, ...args: string[]): ChildProcess {
    const [program = "", ...rest] = [...this.network.via, process.execPath, file, ...args];
    const hub = {
      MIDWATCH_NATS_FLEET: FLEET,
      MIDWATCH_NATS_NKEY: nkey,
      MIDWATCH_NATS_PEOPLE: this.#people,
      MIDWATCH_NATS_SERVERS: this.network.urls.join(","),
    };
    const env = { ...process.env, ...hub, MIDWATCH_GRACE: "500ms" };
    return this.lab.watch(
      spawn(program, rest, { cwd: this.lab.folder, env, stdio: ["ignore", "pipe", "pipe", "ipc"] }),
    );
  }

  /** What people on this machine do: `midwatch ARGS` over the hub. */
  asPeople(nkey: string, ...args: string[]): Promise<Ended> {
    return ended(this.spawn(nkey, CLI, "--workspace", this.lab.root, ...args));
  }

  async #write(): Promise<void> {
    for (let n = 0; !this.#writing.signal.aborted; n++) {
      await this.lab.workspace.journal.append({ interaction: 1, actor: this.name, type: "note", content: String(n) });
      await sleep(5 + (n % 20));
    }
  }

  /** Every other agent is stopped by somebody on another machine, the rest end by themselves: logs whole, Reports right. */
  async settle(from: ChaosHost, people: string, fail: (what: string) => void): Promise<void> {
    const stopped = this.#agents.filter((_, i) => i % 2 === 0);
    await from.#stop(this.name, stopped, people, fail);
    writeFileSync(this.#over, "");
    for (const record of await this.lab.workspace.runs.wait(this.#agents, { timeoutMs: PATIENCE_MS })) {
      const wasStopped = stopped.includes(record.agent);
      const name = `${this.name}/${record.agent}`;
      if (record.outcome !== (wasStopped ? "stopped" : "completed"))
        fail(`${name} is ${record.outcome ?? record.phase}`);
      const lines = (await this.lab.raw(record.agent)).toString().split("\n").slice(0, -1);
      const printed = wasStopped ? lines : lines.slice(0, -1);
      const wrong = printed.findIndex((line, i) => line !== `line ${i}`);
      if (wrong >= 0 || printed.length === 0) fail(`${name}: line ${wrong} is ${JSON.stringify(printed[wrong])}`);
      if (!wasStopped && lines.at(-1) !== `end ${printed.length}`) fail(`${name} ends with ${lines.at(-1)}`);
      const [report] = await this.lab.workspace.runs.stop([record.agent]);
      if (report?.verified !== true || !report.already_stopped) fail(`${name}: ${JSON.stringify(report)}`);
    }
    this.#writing.abort();
    await this.#written;
  }

  async #stop(host: string, agents: readonly string[], people: string, fail: (what: string) => void): Promise<void> {
    const command = ["stop", ...agents.map((agent) => `${host}/${agent}`), "--json"];
    let answer: Ended | undefined;
    const stops = async (): Promise<boolean> => {
      answer = await this.asPeople(people, ...command);
      return answer.code === 0;
    };
    // Hosts that were killed or cut off last are not back yet.
    await until(stops, PATIENCE_MS).catch((error: unknown) => fail(`${error}: ${answer?.stdout} ${answer?.stderr}`));
    const reports = answer?.code === 0 ? (answer.stdout.trim().split("\n").map(parse) as { verified: boolean }[]) : [];
    if (reports.filter(({ verified }) => verified).length !== agents.length)
      fail(`Reports of ${host}: ${answer?.stdout} ${answer?.stderr}`);
  }

  /** What this machine has in its own journal. */
  async own(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { event } of this.lab.workspace.journal.events()) ids.push(event.id);
    return ids;
  }
}

/** A process that wants to lead the fleet, and its account of what was acknowledged. */
export class Candidate {
  readonly child: ChildProcess;
  readonly acked: Set<string>;
  name = "";
  refused = 0;

  /** With `before` it takes the place of one that was killed, and keeps its account. */
  constructor(host: ChaosHost, nkey: string, ttlMs: number, before?: Candidate) {
    this.acked = before?.acked ?? new Set();
    this.refused = before?.refused ?? 0;
    const file = supportFile("nats/nats-leader-worker.ts");
    this.child = host.spawn(nkey, file, host.network.urls.join(","), FLEET, String(ttlMs), nkey);
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
