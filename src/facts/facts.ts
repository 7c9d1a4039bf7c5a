/** The facts of one run as they are on disk now. A fact that is missing or torn is undefined. */
import { basename } from "node:path";
import type { IntentFact } from "../core/intent.ts";
import type {
  ClaimFact,
  CleanupFact,
  DoneFact,
  ExitFact,
  HoldFact,
  LimitFact,
  StartFact,
  StopFact,
  StuckFact,
} from "../core/types.ts";
import type { RunPaths } from "../disk/layout.ts";
import { type Host, host, isKeeper } from "../process/identity.ts";
import { factSource } from "./fact-source.ts";

export interface Facts {
  intent: IntentFact | undefined;
  claim: ClaimFact | undefined;
  start: StartFact | undefined;
  stop: StopFact | undefined;
  hold: HoldFact | undefined;
  exit: ExitFact | undefined;
  limit: LimitFact | undefined;
  stuck: StuckFact | undefined;
  done: DoneFact | undefined;
  cleanup: CleanupFact | undefined;
  /** The keeper that took over after the first one was killed. */
  adopter: ClaimFact | undefined;
  /** Whether the keeper that claimed the run lives. */
  keeperLives: boolean;
  /** What is there and cannot be used, each with the reason. */
  damaged: readonly string[];
}

export function readFacts(paths: RunPaths): Facts {
  const facts = readOnce(paths);
  if (facts.done || facts.claim?.by !== "keeper" || facts.keeperLives) return facts;
  // It may have written its last facts and ended since they were read; now it has written all it ever will.
  return { ...readOnce(paths), keeperLives: false };
}

/** Sealed while it was read: what was missing then stands in the file. More often only somebody plays with the folder. */
const TRIES = 3;

function readOnce(paths: RunPaths, tries = TRIES): Facts {
  const source = factSource(paths);
  const read = <T>(path: string): T | undefined => source.read<T>(basename(path)).value;
  const done = read<DoneFact>(paths.done);
  const claim = read<ClaimFact>(paths.claim);
  const start = read<StartFact>(paths.start);
  const facts: Facts = {
    intent: own(paths, read(paths.intent)),
    claim,
    start,
    stop: read(paths.stop),
    exit: read(paths.exit),
    limit: read(paths.limit),
    done,
    cleanup: done || start?.exec_error || claim?.by === "launcher" ? sound(read(paths.cleanup)) : undefined,
    hold: done ? undefined : read(paths.hold),
    stuck: done ? undefined : read(paths.stuck),
    adopter: done ? undefined : read(paths.adopt),
    keeperLives: false,
    damaged: source.damaged === undefined ? [] : [source.damaged],
  };
  if (source.changed() && tries > 1) return readOnce(paths, tries - 1);
  facts.keeperLives = !done && livingKeeper(facts) !== undefined;
  return facts;
}

/** Its names become paths: an intent that names another run than the one whose folder it lies in is none. */
function own({ of }: RunPaths, intent: IntentFact | undefined): IntentFact | undefined {
  return intent?.task === of.task && intent.agent === of.agent && intent.run === of.run ? intent : undefined;
}

/** An agent can write in its run folder; what has not the shape of the fact is none. */
function sound(fact: CleanupFact | undefined): CleanupFact | undefined {
  const lists = [fact?.files, fact?.failures ?? []];
  const whole = lists.every((list) => Array.isArray(list) && list.every((one) => typeof one?.path === "string"));
  return whole ? fact : undefined;
}

/** Where the run's processes live; a record from another boot or pid namespace matches no process here. */
export function hostOf(facts: Facts): Host | undefined {
  return facts.start ?? facts.intent;
}

/** Whether its processes, if any live, are in the process table that we see. */
export function isHere(facts: Facts): boolean {
  const where = hostOf(facts);
  return where?.boot_id === host().boot_id && where.pid_ns === host().pid_ns;
}

/** Another pid namespace of this boot (a container beside us): its processes may live and cannot be seen from here. */
export function isElsewhere(facts: Facts): boolean {
  return hostOf(facts)?.boot_id === host().boot_id && !isHere(facts);
}

/** The keeper that owns the run, if it lives. */
export function livingKeeper(facts: Facts): ClaimFact | undefined {
  return facts.claim?.by === "keeper" ? ifAlive(facts, facts.claim) : undefined;
}

export function livingAdopter(facts: Facts): ClaimFact | undefined {
  return ifAlive(facts, facts.adopter);
}

function ifAlive(facts: Facts, claim: ClaimFact | undefined): ClaimFact | undefined {
  const where = hostOf(facts);
  return claim && where && isKeeper(claim, claim.nonce, where) ? claim : undefined;
}
