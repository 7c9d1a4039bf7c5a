/** What sizes a hub: bytes and CPU an event costs it, and what a host costs that is only there. */
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { Forwarder } from "../../src/nats/forward.ts";
import { FleetLink } from "../../src/nats/link.ts";
import { NatsServer } from "../../test/support/nats/nats-server.ts";
import { digits } from "../support/figures.ts";
import { cpuSeconds } from "../support/process.ts";
import { type Options, type Row, row } from "../support/row.ts";
import { eventOf } from "./append.ts";
import { Cluster } from "./cluster.ts";
import { HOST, JoinedHost } from "./host.ts";

const PER = 10_000;
const AGENTS = 10;
/** A line five times a second. */
const PRINT = "while :; do echo something is said here; sleep 0.2; done";

export async function costRows(options: Options): Promise<Row[]> {
  return [
    ...(await eventRows(options, "one server", async (under) => {
      const server = await NatsServer.start({ under });
      return { servers: [server], url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
    })),
    ...(await eventRows(options, "three servers", (under) => Cluster.start(under))),
    ...(await hostRows(options)),
  ];
}

interface Hub extends AsyncDisposable {
  servers: NatsServer[];
  url: string;
}

/** A host's forwarder sends them: as many as wait, as after a time away, and each by itself, as they come. */
async function eventRows(
  { quick, dir, say }: Options,
  kind: string,
  start: (under: string) => Promise<Hub>,
): Promise<Row[]> {
  await using hub = await start(dir);
  const root = join(dir, kind.replace(" ", "-"));
  mkdirSync(root);
  const log = new EmbeddedEngine(layout(root));
  const link = await FleetLink.open({ servers: [hub.url], name: "bench" }, "cost", HOST);
  const forwarder = new Forwarder({
    hub: link.hub,
    names: link.names,
    seals: link.seals,
    host: HOST,
    log,
    mask: () => (one) => one,
  });
  const send = async (count: number, each: number): Promise<Used> => {
    await sleep(1000); // What was before is over.
    const before = await usedOf(hub.servers);
    const begun = performance.now();
    for (let n = 0; n < count; n += each) {
      await log.append(Array.from({ length: each }, (_, i) => eventOf(n + i)));
      await forwarder.round();
    }
    const seconds = (performance.now() - begun) / 1000;
    await sleep(1000);
    const after = await usedOf(hub.servers);
    const per = (name: keyof Used): number => (after[name] - before[name]) / count;
    return { cpu: per("cpu"), disk: per("disk"), wire: per("wire"), seconds: seconds / count };
  };
  try {
    await send(1000, 100);
    say(`what an event costs ${kind}`);
    const many = await send(quick ? 5000 : 20_000, 500);
    const alone = await send(quick ? 300 : 600, 1);
    const bytes = JSON.stringify(eventOf(1)).length;
    return [
      row({
        promise: `hub: an event of ${bytes} B, ${kind}`,
        figure: "bytes on disk · bytes in over the network, all servers together",
        measured: `${digits(many.disk)} · ${digits(many.wire)}`,
        note: "as a host forwards it; of three servers each has a copy, and for a time what they send each other",
      }),
      row({
        promise: `hub: CPU for ${digits(PER)} events, ${kind}`,
        figure: "seconds, 500 a batch · one by one",
        measured: `${digits(many.cpu * PER)} · ${digits(alone.cpu * PER)}`,
        ratio: `${digits(alone.cpu / many.cpu)} x`,
        note: `${digits(1 / many.seconds)} and ${digits(1 / alone.seconds)} events a second from one host, its journal included`,
      }),
    ];
  } finally {
    await Promise.all([link.close(), log.close()]);
  }
}

/** A host with `leader_ttl` as it is by default: with nothing to do, and with agents that print. */
async function hostRows({ quick, dir, say }: Options): Promise<Row[]> {
  const seconds = quick ? 8 : 20;
  await using server = await NatsServer.start({ under: dir });
  await using host = await JoinedHost.start(join(dir, "cost"), server.url);
  const watch = async (seconds: number): Promise<Watched> => {
    await sleep(3000); // Past what joining and starting cost.
    const [before, cpu] = [await varzOf(server), cpuSeconds(server.pid)];
    await sleep(seconds * 1000);
    const after = await varzOf(server);
    return {
      messages: (after.in_msgs - before.in_msgs) / seconds,
      bytes: (after.in_bytes - before.in_bytes) / seconds,
      stored: (after.stored - before.stored) / seconds,
      cpu: (cpuSeconds(server.pid) - cpu) / seconds,
    };
  };
  say(`a host that does nothing, ${seconds} s`);
  const idle = await watch(seconds);
  const begun = await eventsOf(host);
  say(`${AGENTS} agents that print, ${seconds / 2} s`);
  const runs = Array.from({ length: AGENTS }, () => host.workspace.runs.start({ argv: ["sh", "-c", PRINT] }));
  const agents = (await Promise.all(runs)).map(({ agent }) => agent);
  let busy: Watched;
  let entry: number;
  try {
    busy = await watch(seconds / 2);
    entry = await entryBytes(host);
  } finally {
    await host.workspace.runs.stop(agents, { graceMs: 0 });
  }
  await sleep(3000);
  const events = ((await eventsOf(host)) - begun) / AGENTS;
  const shown = ({ messages, bytes, stored }: Watched): string =>
    `${digits(messages)} · ${digits(stored)} · ${digits(bytes)}`;
  const figure = "a second: messages · of them stored · bytes in";
  return [
    row({
      promise: "hub: a joined host that does nothing",
      figure,
      measured: shown(idle),
      note: `leader_ttl by default; ${digits(idle.cpu * 100)} % of a core of the server`,
    }),
    row({
      promise: `hub: a joined host with ${AGENTS} agents that print`,
      figure,
      measured: shown(busy),
      note: `${digits(busy.cpu * 100)} % of a core; the list of its agents is sent anew when one of them has changed`,
    }),
    row({
      promise: "hub: an agent in its host's list",
      figure: "bytes · events that it writes from its start to its stop",
      measured: `${digits(entry)} · ${digits(events)}`,
    }),
  ];
}

interface Watched {
  messages: number;
  bytes: number;
  stored: number;
  cpu: number;
}

interface Used {
  cpu: number;
  disk: number;
  wire: number;
  seconds: number;
}

async function usedOf(servers: readonly NatsServer[]): Promise<Used> {
  const seen = await Promise.all(servers.map(varzOf));
  return {
    cpu: sum(servers.map(({ pid }) => cpuSeconds(pid))),
    disk: sum(servers.map(({ folder }) => diskOf(join(folder, "store")))),
    wire: sum(seen.map(({ in_bytes }) => in_bytes)),
    seconds: 0,
  };
}

async function varzOf({ monitor }: NatsServer): Promise<{ in_msgs: number; in_bytes: number; stored: number }> {
  const get = async (path: string): Promise<unknown> => (await fetch(new URL(path, monitor))).json();
  const { in_msgs, in_bytes } = (await get("/varz")) as { in_msgs: number; in_bytes: number };
  const { account_details = [] } = (await get("/jsz?streams=true")) as {
    account_details?: { stream_detail?: { state: { last_seq: number } }[] }[];
  };
  const streams = account_details.flatMap(({ stream_detail = [] }) => stream_detail);
  return { in_msgs, in_bytes, stored: sum(streams.map(({ state }) => state.last_seq)) };
}

/** What it takes, whole blocks included. */
function diskOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return sum(files.map(({ parentPath, name }) => statSync(join(parentPath, name)).blocks * 512));
}

async function eventsOf({ fleet }: JoinedHost): Promise<number> {
  const info = await fleet.hub.ask(({ streams }) => streams.info(fleet.names.events.stream));
  return info.state.messages;
}

async function entryBytes({ fleet }: JoinedHost): Promise<number> {
  const known = await fleet.lastKnown(HOST);
  return sum(known.map((record) => JSON.stringify(record).length)) / known.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
