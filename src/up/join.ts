/**
 * This workspace as a host of a fleet: what its journal gains goes to the hub, and the hub is told who we are and how our agents are. All
 * of it is beside the work: without the hub everything goes on here, and the journal is what catches up later.
 */
import { createHash } from "node:crypto";
import { availableParallelism, freemem, hostname, loadavg, totalmem } from "node:os";
import { resolve } from "node:path";
import { zoneOf } from "../budget/budgets.ts";
import { type HostSpend, keepHeard, ownSpend } from "../budget/fleet-spend.ts";
import type { Config } from "../core/config/config.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { maskText } from "../core/mask/mask.ts";
import { iso } from "../core/time.ts";
import { freeSpace } from "../disk/free-space.ts";
import { forgetClaims } from "../nats/ask.ts";
import { Forwarder } from "../nats/forward.ts";
import { type HostFact, parseLabels } from "../nats/host.ts";
import type { HubSettings } from "../nats/hub.ts";
import { type AgentsFact, FleetLink } from "../nats/link.ts";
import { isPublicKey } from "../nats/signed/keys.ts";
import { list } from "../run/list.ts";
import { audit } from "../workspace/audit.ts";
import type { Context } from "../workspace/context.ts";
import { rosterFiles } from "./roster-files.ts";
import { LogShipper } from "./ship-logs.ts";
import { maskOutgoing } from "./sync.ts";

export interface JoinCall {
  tell(text: string): void;
  signal: AbortSignal;
}

export const REST_MS = 2000;
const REST_MOST_MS = 30_000;
const FORGET_MS = 600_000;
const SHIP_MS = 5000;

/** Neither a password in an address nor a key in the configuration: both would be told. */
export function hubSettings(config: Config, folder: string, name: string): HubSettings & { people: string[] } {
  const file = (path: string): string | undefined => (path === "" ? undefined : resolve(folder, path));
  const list = (text: string): string[] =>
    text
      .trim()
      .split(/\s*,\s*/)
      .filter(Boolean);
  const servers = list(config.nats_servers);
  if (servers.length === 0)
    throw new MidwatchError("BAD_CONFIG", "No hub is named.", {
      hint: "Set nats_servers (MIDWATCH_NATS_SERVERS=nats://hub:4222), or `midwatch up --join nats://hub:4222`.",
    });
  if (servers.some((server) => server.includes("@")))
    throw new MidwatchError("BAD_CONFIG", "nats_servers holds a name or password.", {
      hint: "Put an nkey or credentials into a file and name it by nats_nkey or nats_creds.",
    });
  const people = list(config.nats_people);
  const bad = people.find((key) => !isPublicKey(key));
  if (bad !== undefined)
    throw new MidwatchError("BAD_CONFIG", `nats_people: ${JSON.stringify(bad)} is not a public key.`, {
      hint: "It is a U and 55 letters and digits; `midwatch nats init` prints it. A seed (SU...) belongs into a file.",
    });
  return {
    servers,
    people,
    name: `midwatch ${name}`,
    inbox: `_INBOX_${name}`,
    creds: file(config.nats_creds),
    nkey: file(config.nats_nkey),
    tls: { ca: file(config.nats_ca), cert: file(config.nats_cert), key: file(config.nats_key) },
    monitors: list(config.nats_monitor),
  };
}

/** What this workspace is called in the fleet. The same each time without anything being kept. */
export function hostName({ config, layout }: Pick<Context, "config" | "layout">): string {
  if (config.nats_host !== "") {
    if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(config.nats_host)) return config.nats_host;
    throw new MidwatchError("BAD_CONFIG", `nats_host ${JSON.stringify(config.nats_host)} is no name.`, {
      hint: "Use a-z, 0-9, - and _.",
    });
  }
  const name = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 40);
  return `${name || "host"}-${identityOf(layout.root).slice(0, 4)}`;
}

export function identityOf(root: string): string {
  return createHash("sha256").update(`${hostname()}\0${root}`).digest("hex").slice(0, 16);
}

/** As a host: whoever may ask it may run commands here. */
export async function openLink(context: Context, host: string, doubt?: (why: string) => void): Promise<FleetLink> {
  const { config, layout, trust } = context;
  const folder = resolve(layout.root, "..");
  const link = await FleetLink.open(hubSettings(config, folder, host), config.nats_fleet, host, {
    rosters: rosterFiles(config, folder, trust.state),
    doubt,
  });
  if (!link.hub.isOpenToAll) return link;
  await link.close();
  throw new MidwatchError("BAD_HUB", "The hub asks nobody for a key: anybody who reaches it could run commands here.", {
    hint: "`midwatch nats init HOST...` writes a configuration with a key for each host.",
  });
}

const NO_PEOPLE =
  "nats_people is not set, so nobody's questions are answered: set it to the key that `midwatch nats init` prints (docs/scale.md).";

/** What somebody else wrote or asked in a name that is not theirs: for who looks at `up`, and as an event for who looks later. */
export function warn(context: Context, call: JoinCall, why: string): void {
  call.tell(maskText(`fleet: ${why}`));
  audit(context, [{ type: "error", content: `fleet ${context.config.nats_fleet}: ${why}` }]);
}

/** For the loop of `up`: each call forwards what is new and, when it is time, tells how we are. Errors stay here; they are told once. */
export function joinRounds(context: Context, call: JoinCall): { round(): Promise<void>; close(): Promise<void> } {
  const { config } = context;
  const tell = (text: string): void => call.tell(maskText(`fleet: ${text}`));
  let host: Host | undefined;
  let [problem, restUntil, rest] = ["", 0, REST_MS];
  const round = async (): Promise<void> => {
    if (config.nats_servers === "" || performance.now() < restUntil) return;
    try {
      if (host === undefined) {
        host = await Host.open(context, (why) => warn(context, call, why));
        tell(`this is ${host.name} of ${config.nats_fleet}`);
        if (host.link.seals.isOpen && !host.link.hub.isKeyless) tell(NO_PEOPLE);
        for (const text of (await host.link.hub.durability()).problems) tell(text);
      }
      await host.round();
      if (problem !== "") tell("the hub is back");
      [problem, rest] = ["", REST_MS];
    } catch (error) {
      if (call.signal.aborted) return;
      const { message, hint } = toMidwatchError(error);
      if (message !== problem) tell(hint === undefined ? message : `${message} ${hint}`);
      problem = message;
      restUntil = performance.now() + rest;
      rest = Math.min(rest * 2, REST_MOST_MS);
      // A connection that was made looks for the hub by itself.
      if (host?.link.hub.isHere) rest = REST_MS;
    }
  };
  return { round, close: async () => await host?.close() };
}

class Host {
  readonly name: string;
  readonly link: FleetLink;
  readonly #context: Context;
  readonly #forwarder: Forwarder;
  readonly #shipper: LogShipper;
  readonly #since = iso();
  #shipped = Number.NEGATIVE_INFINITY;
  #told = Number.NEGATIVE_INFINITY;
  #forgot = Number.NEGATIVE_INFINITY;
  #agents = "";
  #heard = "";

  private constructor(context: Context, name: string, link: FleetLink) {
    this.#context = context;
    this.name = name;
    this.link = link;
    const { own } = context;
    this.#shipper = new LogShipper(context, link, name);
    this.#forwarder = new Forwarder({
      hub: link.hub,
      names: link.names,
      seals: link.seals,
      host: name,
      log: own,
      before: async () => (await link.registers.get<HostFact>(`hosts/${name}`))?.value.sent,
      mask: () => maskOutgoing(context),
    });
  }

  static async open(context: Context, doubt: (why: string) => void): Promise<Host> {
    const name = hostName(context);
    const link = await openLink(context, name, doubt);
    try {
      await assertOurs(context, name, link);
      return new Host(context, name, link);
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  async round(): Promise<void> {
    await this.#forwarder.round();
    const now = performance.now();
    if (now - this.#told < this.#context.config.leader_ttl / 4) return;
    await this.#tell();
    this.#told = now;
    if (this.#context.config.nats_logs === "archived" && now - this.#shipped >= SHIP_MS) {
      await this.#shipper.round();
      this.#shipped = now;
    }
    if (now - this.#forgot < FORGET_MS) return;
    await forgetClaims(this.link.registers, this.name);
    this.#forgot = now;
  }

  async #tell(): Promise<void> {
    const agents = await list(this.#context, {});
    const { config, layout } = this.#context;
    const free = freeSpace(layout.root).bytes;
    const fact: HostFact = {
      v: 1,
      host: this.name,
      identity: identityOf(layout.root),
      since: this.#since,
      at: iso(),
      version: process.version,
      labels: parseLabels(config.nats_labels),
      cpus: availableParallelism(),
      load: loadavg()[0] ?? 0,
      memory_bytes: totalmem(),
      memory_free_bytes: freemem(),
      disk_free_bytes: free,
      running: agents.filter(({ phase }) => ["launching", "running", "stopping"].includes(phase)).length,
      max_running: config.max_running,
      full: free < config.disk_refuse,
    };
    const sent = await this.#forwarder.sent();
    if (sent !== undefined) fact.sent = sent;
    const spend = spendIfKnown(this.#context);
    if (spend !== undefined) fact.spend = spend;
    await this.#put(`hosts/${this.name}`, fact);
    if (spend !== undefined) await this.#hear();
    const text = JSON.stringify(agents);
    if (text === this.#agents) return;
    await this.#put(`agents/${this.name}`, { v: 1, at: iso(), agents } satisfies AgentsFact);
    this.#agents = text;
  }

  /** What the others spend, for a budget of the fleet. */
  async #hear(): Promise<void> {
    const others = await this.link.spends(this.name);
    const text = JSON.stringify(others);
    if (text === this.#heard) return;
    keepHeard(this.#context, others);
    this.#heard = text;
  }

  /** It is ours alone, so whatever is there now is replaced. */
  async #put(key: string, value: unknown): Promise<void> {
    const { registers } = this.link;
    for (let tries = 0; tries < 3; tries++)
      if ((await registers.set(key, value, (await registers.get(key))?.rev ?? 0)) !== undefined) return;
  }

  async close(): Promise<void> {
    await this.link.close();
  }
}

/** What cannot be read is told by whoever has to know it. */
function spendIfKnown(context: Context): HostSpend | undefined {
  try {
    return ownSpend(context, zoneOf(context));
  } catch (error) {
    if (error instanceof MidwatchError) return undefined;
    throw error;
  }
}

/** Two workspaces under one name would hide each other's agents. */
export async function assertOurs({ layout }: Context, name: string, link: FleetLink): Promise<void> {
  const known = (await link.registers.get<HostFact>(`hosts/${name}`))?.value.identity;
  if (known === undefined || known === identityOf(layout.root)) return;
  const there = await link.identity(name);
  if (there === undefined || there === identityOf(layout.root)) return;
  throw new MidwatchError("BAD_HUB", `Another workspace is ${name} in this fleet.`, {
    hint: "Set nats_host to a name of its own.",
  });
}
