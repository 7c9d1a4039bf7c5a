/**
 * A stop leaves nothing and touches nobody else. Agents with five descendants each that are hard to find or to end, among
 * 1,000 bystanders and 20 innocents whose command lines hold the agents' ids. Who is left is counted from lists that the
 * processes wrote themselves; when the last one ended is seen by a C program that waits for all of them by pidfd.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { both, digits, interleave, median } from "./support/figures.ts";
import { finish, isAlive, kill, type Listed, nowNs, readList, startOf, startReady, until } from "./support/process.ts";
import { type Options, type Row, row } from "./support/row.ts";
import { GRACE_MS, killTree, midwatch, processGroup, type Stopper, seed, WORD } from "./support/stoppers.ts";

const BYSTANDERS = 1000;
const INNOCENTS = 20;
/** The agent itself and its five descendants. */
const TREE = 6;
type Kind = "stubborn" | "polite";

/** Times in ms from the call. */
interface Result {
  /** The last process had ended; undefined when some have not. */
  processes: number | undefined;
  wall: number;
  took: number;
  left: number;
  innocents: number;
  strangers: number;
  guarantee: string;
}

type Method = "auto" | "subreaper" | "group" | "tree-kill" | "seed";
const PEERS: Readonly<Partial<Record<Method, string>>> = {
  group: "process group",
  "tree-kill": "tree-kill",
  seed: "the seed",
};

interface Scene {
  count: number;
  kind: Kind;
  /** How many rounds each method takes part in; a slow one in fewer. */
  rounds: Readonly<Partial<Record<Method, number>>>;
  mostMs?: number;
}

function scenes(quick: boolean): Scene[] {
  const many = quick ? 20 : 100;
  const tiers = (rounds: number): Partial<Record<Method, number>> => ({ auto: rounds, subreaper: rounds });
  return [
    { count: 1, kind: "stubborn", rounds: { ...tiers(5), group: 5, "tree-kill": 5, seed: quick ? 1 : 2 } },
    { count: 10, kind: "stubborn", rounds: { ...tiers(5), group: 2, "tree-kill": 2, seed: quick ? 0 : 1 } },
    { count: many, kind: "stubborn", rounds: tiers(5), mostMs: GRACE_MS + 500 },
    { count: 1, kind: "polite", rounds: tiers(9), mostMs: 50 },
    { count: many, kind: "polite", rounds: tiers(5), mostMs: 300 },
  ];
}

export async function bench(options: Options): Promise<Row[]> {
  const bystanders = await startReady(options.load("still"), [String(options.quick ? BYSTANDERS / 10 : BYSTANDERS)]);
  const stoppers: Record<Method, Stopper> = {
    auto: midwatch(options, "auto"),
    subreaper: midwatch(options, "subreaper"),
    group: processGroup(),
    "tree-kill": killTree(),
    seed: seed(options),
  };
  try {
    await stopOnce(options, stoppers.auto, 1, "polite"); // warm up
    const rows: Row[] = [];
    for (const scene of scenes(options.quick)) rows.push(...(await play(options, stoppers, scene)));
    return rows;
  } finally {
    for (const stopper of Object.values(stoppers)) stopper.close();
    await finish(bystanders);
  }
}

async function play(options: Options, stoppers: Record<Method, Stopper>, scene: Scene): Promise<Row[]> {
  const { count, kind, rounds } = scene;
  const methods = Object.keys(rounds) as Method[];
  const results = new Map<Method, Result[]>(methods.map((method) => [method, []]));
  options.say(`stop ${count} ${kind} by ${methods.join(", ")}`);
  const variants = methods.map((method) => [
    method,
    async (round: number) => {
      if (round < (rounds[method] ?? 0))
        results.get(method)?.push(await stopOnce(options, stoppers[method], count, kind));
    },
  ]);
  await interleave(Object.fromEntries(variants), Math.max(...Object.values(rounds)));
  const peers = methods
    .filter((method) => PEERS[method] !== undefined)
    .map((method) => peerText(PEERS[method] as string, count, results.get(method) ?? []))
    .filter(Boolean);
  return (["auto", "subreaper"] as const).map((tier) => ({
    ...ourRow(scene, results.get(tier) ?? []),
    peer: tier === "auto" ? peers.join("; ") : "",
  }));
}

function ourRow({ count, kind, mostMs }: Scene, results: readonly Result[]): Row {
  const left = sum(results, "left");
  const innocents = sum(results, "innocents");
  const ends = results.map(({ processes }) => processes ?? Number.POSITIVE_INFINITY);
  const middle = (key: "took" | "wall"): string => digits(median(results.map((one) => one[key])));
  return row({
    promise: "stop",
    figure: `${agents(count)} (${kind}) x 5 descendants, ${results[0]?.guarantee}`,
    measured: `${both(ends, " ms")}; ${left} left, ${innocents} innocents killed`,
    bar: `${mostMs === undefined ? "" : `≤ ${mostMs} ms, `}0 left, 0 innocents`,
    holds: left === 0 && innocents === 0 && (mostMs === undefined || median(ends) <= mostMs),
    note: `${results.length} rounds; it reports took_ms ${middle("took")}; the whole call, with files, ${middle("wall")} ms`,
  });
}

function peerText(name: string, count: number, results: readonly Result[]): string {
  if (results.length === 0) return "";
  const walls = results.map(({ wall }) => wall);
  const worst = (key: Counted): number => Math.max(...results.map((one) => one[key]));
  const strangers = worst("strangers") > 0 ? `, and ${worst("strangers")} processes of others if it were let` : "";
  return `${name} ${digits(median(walls))} ms, ${worst("left")} of ${count * TREE} left, ${worst("innocents")} of ${INNOCENTS} innocents killed${strangers}`;
}

type Counted = "left" | "innocents" | "strangers";
const sum = (results: readonly Result[], key: Counted): number => results.reduce((total, one) => total + one[key], 0);
const agents = (count: number): string => (count === 1 ? "1 agent" : `${count} agents`);

async function stopOnce(options: Options, stopper: Stopper, count: number, kind: Kind): Promise<Result> {
  const dir = join(options.dir, "lists");
  mkdirSync(dir);
  const lists = Array.from({ length: count }, (_, i) => join(dir, String(i)));
  const argv = (i: number, id: string): string[] => [options.load("tree"), kind, lists[i] as string, WORD, id];
  const ids = await stopper.start(count, argv);
  await until("all trees stand", () => lists.every((list) => readList(list).length === TREE), 30_000);
  const innocents = await startInnocents(options, ids);
  const gone = await startReady(options.load("gone"), lists);
  const all = lists.flatMap(readList);
  try {
    const begun = nowNs();
    const { reports, strangers } = await stopper.stop(() => [...all, ...innocents.listed]);
    const wall = (nowNs() - begun) / 1e6;
    // Ours says that all are gone; a peer only says that it has sent its signals.
    if (reports.length === 0) await sleep(300);
    const left = all.filter(isAlive);
    for (const { pid } of left) kill(pid, "SIGKILL");
    await until("the lists' processes end", () => /^\d+ \d+$/m.test(gone.text), 20_000);
    const last = Number(/^(\d+) \d+$/m.exec(gone.text)?.[1]);
    return {
      processes: left.length > 0 ? undefined : (last - begun) / 1e6,
      wall,
      took: Math.max(0, ...reports.map(({ took_ms }) => took_ms)),
      left: left.length + reports.filter(({ verified }) => !verified).length,
      innocents: innocents.listed.filter((one) => !isAlive(one)).length,
      strangers,
      guarantee: [...new Set(reports.map(({ guarantee }) => guarantee))].join(" and "),
    };
  } finally {
    for (const one of all.filter(isAlive)) kill(one.pid, "SIGKILL");
    await finish(gone);
    await innocents.end();
    rmSync(dir, { recursive: true });
  }
}

async function startInnocents(
  options: Options,
  ids: readonly string[],
): Promise<{ listed: Listed[]; end(): Promise<void> }> {
  const args = ["1", "notes", WORD, ...ids];
  const started = await Promise.all(Array.from({ length: INNOCENTS }, () => startReady(options.load("still"), args)));
  return {
    listed: started.map(({ child }) => ({ pid: child.pid as number, start: startOf(child.pid as number) as number })),
    end: async () => void (await Promise.all(started.map(finish))),
  };
}
