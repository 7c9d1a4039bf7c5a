/**
 * The facts of one run as they are on disk now. One that is missing, torn or not of its shape is undefined, and so is one that the
 * process table contradicts: facts are claims of somebody with the agent's rights.
 */
import type { IntentFact } from "../core/intent.ts";
import { type Masker, masker } from "../core/mask/mask.ts";
import type { LimitFact } from "../core/needs-watch.ts";
import { SECRET_PRINTS, type SecretPrints, secretFinder } from "../core/secret-values.ts";
import type {
  ClaimFact,
  CleanupFact,
  DoneFact,
  ExitFact,
  HoldFact,
  StartFact,
  StopFact,
  StuckFact,
} from "../core/types.ts";
import type { RunPaths } from "../disk/layout.ts";
import { readFact } from "../disk/sealed.ts";
import { type Host, host, isKeeper, readProcess } from "../process/identity.ts";
import { type FactName, factBytes, factFault } from "./fact-shapes.ts";
import { type FactSource, factSource } from "./fact-source.ts";

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
  /** done.json is there and its writer lives: it ends in this moment, or the file is another's. */
  ending: boolean;
  /** Facts that are there and cannot be used, each with the reason. */
  damaged: readonly string[];
  /** It is sealed, and so over, and how it ended cannot be read. */
  unreadable: boolean;
  /** What says that the run is over although processes of it live (witness.ts). */
  refuted: string | null;
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
  const facts = factsOf(paths, source);
  return source.changed() && tries > 1 ? readOnce(paths, tries - 1) : facts;
}

function factsOf(paths: RunPaths, source: FactSource): Facts {
  const damaged = source.damaged === undefined ? [] : [source.damaged];
  const read = <T>(fact: FactName): T | undefined => {
    const { value, reason } = source.read<T>(fact, factBytes(fact));
    const fault = value === undefined ? reason && "cannot be read" : factFault(fact, value);
    if (fault !== undefined) damaged.push(`${fact} ${fault}`);
    return fault === undefined ? value : undefined;
  };
  const facts: Facts = {
    intent: own(paths, read("intent.json"), damaged),
    claim: read("claim"),
    start: read("start.json"),
    stop: read("stop.json"),
    exit: read("exit.json"),
    limit: read("limit.json"),
    done: read("done.json"),
    cleanup: undefined,
    hold: undefined,
    stuck: undefined,
    adopter: read("adopt.json"),
    keeperLives: false,
    ending: false,
    damaged,
    unreadable: false,
    refuted: null,
  };
  facts.keeperLives = livingKeeper(facts) !== undefined;
  // Whoever writes done.json does nothing after it but end: while it lives, the file is another's, or moments old.
  facts.ending = facts.done !== undefined && (facts.keeperLives || livingAdopter(facts) !== undefined);
  facts.unreadable = source.isSealed && !facts.done && !facts.keeperLives;
  if (facts.unreadable && damaged.length === 0) damaged.push("it is sealed without done.json");
  if (facts.ending) facts.done = undefined;
  if (facts.exit && mainLives(facts)) facts.exit = undefined;
  const isOver = facts.done || facts.start?.exec_error || facts.claim?.by === "launcher" || facts.unreadable;
  if (isOver) facts.cleanup = read("cleanup.json");
  if (facts.done) return { ...facts, adopter: undefined };
  facts.hold = read("hold.json");
  facts.stuck = read("stuck.json");
  return facts;
}

/** Its names become paths: an intent that names another run than the one whose folder it lies in is none. */
function own({ of }: RunPaths, intent: IntentFact | undefined, damaged: string[]): IntentFact | undefined {
  if (intent?.task === of.task && intent.agent === of.agent && intent.run === of.run) return intent;
  if (intent) damaged.push("intent.json is of another run");
  return undefined;
}

/** The process that was started is still there: then nobody can have seen its end. */
function mainLives(facts: Facts): boolean {
  const main = facts.start?.main;
  return main != null && isHere(facts) && readProcess(main.pid)?.start_ticks === main.start_ticks;
}

/** Where the run's processes live; a record from another boot or pid namespace matches no process here. */
function hostOf(facts: Facts): Host | undefined {
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

/** The keeper that owns the run, if it lives: the one that claims it, or, should the claim be another's, the one that started it. */
export function livingKeeper({ intent, claim, start }: Facts): ClaimFact | undefined {
  if (claim?.by === "keeper" && isKeeper(claim, claim.nonce)) return claim;
  const nonce = intent?.nonce ?? claim?.nonce ?? "";
  if (!start || start.keeper.pid === claim?.pid || !isKeeper(start.keeper, nonce)) return undefined;
  return { ...start.keeper, by: "keeper", nonce, at: start.started_at };
}

export function livingAdopter({ adopter }: Facts): ClaimFact | undefined {
  return adopter && isKeeper(adopter, adopter.nonce) ? adopter : undefined;
}

/** What hides the secrets of a run in text, by the fingerprints that its folder holds. */
export function runMasker(paths: RunPaths): Masker {
  const prints = readFact<SecretPrints>(paths, paths.secrets, SECRET_PRINTS);
  return masker(prints ? secretFinder(prints) : undefined);
}
