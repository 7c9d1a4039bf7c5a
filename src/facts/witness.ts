/**
 * The kernel as a witness. done.json, a launcher's claim and a failed exec say that a run is over; that is believed for good only when
 * nobody carries the run's nonce and its cgroup is empty. One search of all processes serves everybody who asks meanwhile.
 */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { DoneFact } from "../core/types.ts";
import { readProcess } from "../process/identity.ts";
import { type Asked, type Look, type Scanned, scanMembers } from "../process/keeper.ts";
import type { Context, RunName } from "../workspace/context.ts";
import type { Facts } from "./facts.ts";
import { hasEnded } from "./observe.ts";

/** `members` is null when the look itself failed: that is not nobody. `free`: see Look. */
export interface Seen extends Look {
  facts: Facts;
}

type Place = Pick<Context, "layout" | "config">;

let batch: { root: string; asked: Asked[]; found: Promise<Look[]> } | undefined;

/** The living members of a run, as they are after the call. */
async function lookAt({ layout: { root }, config }: Place, one: Asked): Promise<Look> {
  if (batch === undefined || batch.root !== root) {
    const asked: Asked[] = [];
    const found = turn().then(() => {
      if (batch?.asked === asked) batch = undefined;
      return scanMembers(root, asked, config.scan_timeout);
    });
    batch = { root, asked, found };
  }
  const { asked, found } = batch;
  const place = asked.push(one) - 1;
  return (await found)[place] ?? { members: null, free: [] };
}

/**
 * The facts, with what the kernel refutes taken away. To be asked of a run before it is settled as over. `nonce` is what the registry
 * knows: the ones in the facts may be another's. `files`: see Asked.
 */
export async function witnessed(
  place: Place,
  name: RunName,
  facts: Facts,
  nonce: string | undefined,
  files?: readonly string[],
): Promise<Seen> {
  if (!hasEnded(facts)) return { facts, members: [], free: [] };
  const nonces = new Set([nonce, facts.intent?.nonce, facts.claim?.nonce].filter((one) => one));
  const { dir } = place.layout.run(name.task, name.agent, name.run);
  const look = async (): Promise<Look> => {
    const looks = await Promise.all([...nonces].map((one) => lookAt(place, { nonce: one as string, dir, files })));
    const failed = looks.some(({ members }) => members === null);
    return { members: failed ? null : looks.flatMap(({ members }) => members ?? []), free: looks[0]?.free ?? [] };
  };
  let { members, free } = await look();
  // The keeper of a child outlives the mark of its run by moments, and then nothing says whose it is.
  for (let tries = 0; tries < 10 && members?.length && members.every(({ why }) => why); tries++) {
    await sleep(20);
    ({ members, free } = await look());
  }
  const { done } = facts;
  const isTold = ({ why }: Scanned): boolean => why !== undefined && done?.verified === false;
  if (!members?.every(isTold)) return { facts: members ? refuted(facts) : facts, members, free };
  return { facts, members: [...members, ...stillLeft(done, members)], free };
}

/** Whom its keeper was in doubt about, as far as they live: of some only the keeper could know. */
function stillLeft(done: DoneFact | undefined, members: readonly Scanned[]): Scanned[] {
  return (done?.left ?? []).flatMap(({ pid, start_ticks, ...one }) => {
    const now = members.some((known) => known.pid === pid) ? undefined : readProcess(pid)?.start_ticks;
    return now !== undefined && now === (start_ticks ?? now) ? [{ pid, start_ticks: now, ...one }] : [];
  });
}

/** Pure: facts of a run that is said to be over, and lives. */
export function refuted(facts: Facts): Facts {
  const { done, claim } = facts;
  const fact = done ? "done.json" : claim?.by === "launcher" ? "claim" : "start.json";
  return { ...facts, done: undefined, cleanup: undefined, refuted: fact };
}
