/**
 * Is all well: who is alive, who leads, what failed lately, who is paused, how much room there is, how old the snapshot is. Heartbeats,
 * elections and errors come from the journal; a fold of it is kept by whoever leads, so that one more look reads only what is new.
 */
import { statSync } from "node:fs";
import type { Config } from "../core/config/config.ts";
import { iso } from "../core/time.ts";
import { freeSpace } from "../disk/free-space.ts";
import type { Layout } from "../disk/layout.ts";
import type { Cursor, Engine } from "./engine.ts";
import type { JournalEvent } from "./event.ts";
import { type Alive, heartbeats } from "./heartbeat.ts";
import { type Leadership, leadership } from "./leader.ts";
import { type Paused, paused } from "./pause.ts";
import { ELECTION, HEARTBEAT, isLeadersBeat, Terms, withoutStale } from "./term.ts";

const KEY = "registers/health";
const ERRORS_KEPT = 20;
const ELECTIONS_KEPT = 5;
const ACTORS_KEPT = 200;

/** Who is alive, who leads, what failed lately and how much room is left. */
export interface HealthRecord {
  /** `failed`: somebody is paused, or the disk is below `disk_refuse`; `warning`: silent processes, errors in the last hour, little room. */
  state: "ok" | "warning" | "failed";
  leader: Leadership;
  alive: Alive[];
  paused: Pick<Paused, "actor" | "what" | "code" | "message" | "since" | "mode">[];
  /** Newest last. */
  errors: { timestamp: string; actor: string; content: string }[];
  elections: { timestamp: string; actor: string; term: number }[];
  disk: { free_bytes: number };
  snapshot: { at: string } | null;
  engine: { engine: string; durable: boolean; problems: string[] };
}

interface Beats {
  since: string;
  last: string;
}

interface Fold {
  v: 1;
  after: Cursor | null;
  terms: Record<string, number>;
  beats: Record<string, Beats>;
  errors: HealthRecord["errors"];
  elections: HealthRecord["elections"];
}

export async function health(engine: Engine, layout: Layout, config: Config): Promise<HealthRecord> {
  const fold = await foldOn(engine, config.leader_ttl);
  const files = await heartbeats(engine, config.leader_ttl);
  const pauses = (await paused(engine)).map(({ v: _v, process: _process, ...shown }) => shown);
  const record: HealthRecord = {
    state: "ok",
    leader: await leadership(engine),
    alive: [...files, ...eventBeats(fold, config.leader_ttl)],
    paused: pauses,
    errors: fold.errors,
    elections: fold.elections,
    disk: { free_bytes: freeSpace(layout.root).bytes },
    snapshot: snapshotOf(layout),
    engine: await engine.health(),
  };
  return { ...record, state: judge(record, config) };
}

/** Keeps what was folded, so that the next look is short. For the leader's rounds. */
export async function keepHealth(engine: Engine, ttlMs: number): Promise<void> {
  const kept = await engine.get<Fold>(KEY);
  const fold = await foldOn(engine, ttlMs);
  if (fold.after !== null && fold.after !== kept?.value?.after) await engine.set(KEY, fold, kept?.rev ?? 0);
}

async function foldOn(engine: Engine, ttlMs: number): Promise<Fold> {
  const kept = (await engine.get<Fold | null>(KEY))?.value;
  const usable = kept?.v === 1 && kept.after !== null && (await engine.holds(kept.after));
  const fold: Fold = usable ? kept : { v: 1, after: null, terms: {}, beats: {}, errors: [], elections: [] };
  const terms = new Terms(engine, fold.terms);
  for await (const item of withoutStale(engine.read({ after: fold.after ?? undefined }), terms)) {
    fold.after = item.next;
    // Who leads has a file that tells more.
    if ("event" in item && !isLeadersBeat(item.event)) add(fold, item.event, ttlMs);
  }
  fold.terms = terms.known;
  return fold;
}

function add(fold: Fold, { type, actor, timestamp, content, term }: JournalEvent, ttlMs: number): void {
  if (type === "error") fold.errors = [...fold.errors, { timestamp, actor, content }].slice(-ERRORS_KEPT);
  if (type === ELECTION)
    fold.elections = [...fold.elections, { timestamp, actor, term: term ?? 0 }].slice(-ELECTIONS_KEPT);
  if (type !== HEARTBEAT) return;
  const before = fold.beats[actor];
  const goesOn = before !== undefined && Date.parse(timestamp) - Date.parse(before.last) <= ttlMs;
  // The one heard last comes last, and the first ones are forgotten.
  delete fold.beats[actor];
  fold.beats[actor] = { since: goesOn ? before.since : timestamp, last: timestamp };
  const actors = Object.keys(fold.beats);
  if (actors.length > ACTORS_KEPT) delete fold.beats[actors[0] as string];
}

function eventBeats({ beats }: Fold, ttlMs: number): Alive[] {
  return Object.entries(beats).map(([actor, { since, last }]) => ({
    actor,
    kind: "event",
    state: Date.now() - Date.parse(last) <= ttlMs ? "alive" : "silent",
    since,
    last,
    pid: null,
  }));
}

function judge({ paused, alive, errors, disk, engine, leader }: HealthRecord, config: Config): HealthRecord["state"] {
  if (paused.length > 0 || disk.free_bytes < config.disk_refuse || engine.problems.length > 0) return "failed";
  const lately = iso(Date.now() - 3_600_000);
  const worry =
    disk.free_bytes < config.disk_warn ||
    ["overdue", "gone"].includes(leader.state) ||
    alive.some(({ state, kind }) => state === "silent" && kind !== "event") ||
    errors.some(({ timestamp }) => timestamp >= lately);
  return worry ? "warning" : "ok";
}

function snapshotOf({ communication }: Layout): HealthRecord["snapshot"] {
  const stat = statSync(communication, { throwIfNoEntry: false });
  return stat === undefined ? null : { at: iso(stat.mtimeMs) };
}
