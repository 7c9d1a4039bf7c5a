/**
 * The composition root: one object over one workspace, made of a few smaller ones, each over the rooms that do its work. Every door and the
 * library do everything through it.
 */
import { isDeepStrictEqual } from "node:util";
import { type Config, type ConfigInput, loadConfig } from "../core/config/config.ts";
import { stricter } from "../core/config/stricter.ts";
import { StateFolder } from "../disk/guard/state-folder.ts";
import { rebuildFrom } from "../facts/folders.ts";
import { FleetLink } from "../nats/link.ts";
import { hubSettings } from "../up/join.ts";
import { rosterFiles } from "../up/roster-files.ts";
import { assertPerson, callingAgent } from "../workspace/caller.ts";
import { type Caller, type Context, catchUp, withWriter } from "../workspace/context.ts";
import { Alerting } from "./alerting.ts";
import { Budgets } from "./budgets.ts";
import { Files } from "./files.ts";
import { HoldsContext } from "./holds-context.ts";
import { Http } from "./http.ts";
import { Logs } from "./logs.ts";
import { Mail } from "./mail.ts";
import { type OpenOptions, open, pricesOf } from "./open.ts";
import { Remote } from "./remote.ts";
import { Runs } from "./runs.ts";
import { SharedJournal } from "./shared-journal.ts";
import { Trusting } from "./trusting.ts";
import { Up } from "./up.ts";
import { Verdicts } from "./verdicts.ts";

export type { AgentSummary } from "../core/summary.ts";
export type { Activity } from "../drivers/index.ts";
export type { Archived } from "../files/archive.ts";
export type { PinRecord } from "../files/pin.ts";
export type { PruneOptions, PruneRecord } from "../files/prune.ts";
export type { Stored } from "../journal/engine.ts";
export type { JournalEvent } from "../journal/event.ts";
export type { HealthRecord } from "../journal/health.ts";
export type { Leadership } from "../journal/leader.ts";
export type { LogPlace } from "../log/log.ts";
export type { LogRecord } from "../log/record.ts";
export type { CheckpointRecord } from "../messages/checkpoint.ts";
export type { Question } from "../nats/ask.ts";
export { type HostRecord, place, type Wish } from "../nats/host.ts";
export type { FleetLink, FleetRecord } from "../nats/link.ts";
export { checkRun } from "../run/check-run.ts";
export type { FailureRecord, ReapOptions, ReapRecord } from "../run/reap.ts";
export type { RunRecord } from "../run/run-record.ts";
export type { WaitOptions } from "../run/wait.ts";
export type { Page, SharedLog } from "../stream/page.ts";
export type { LogItem, LogOptions } from "../stream/read.ts";
export type { SyncStatus } from "../sync/state.ts";
export type { HouseOptions, HouseRecord } from "../up/house.ts";
export { readShipped } from "../up/ship-logs.ts";
export type { LogPosition } from "../watch/summaries.ts";
export type { Caller } from "../workspace/context.ts";
export type { ServerFact } from "../workspace/http-files.ts";
export type { BudgetName, BudgetRecord } from "./budgets.ts";
export type { Followed } from "./logs.ts";
export type { OpenOptions } from "./open.ts";
export { type TrustedConfig, type TrustRecord, trustProject } from "./trusting.ts";

export function openWorkspace(options: OpenOptions = {}): Workspace {
  const { context, usedFallback } = open(options);
  const { config, persons } = context;
  // Who asks is found out only where it matters: most commands come without any setting.
  const bounded = !isDeepStrictEqual(config, persons) && callingAgent(context) !== undefined;
  return new Workspace(bounded ? boundedBy(context, stricter(persons, config)) : context, usedFallback);
}

function boundedBy(context: Context, config: Config): Context {
  return { ...context, config, prices: pricesOf(context.layout, config) };
}

export interface FleetCall {
  /** Without a workspace too, for people who only look. */
  workspace: Workspace | undefined;
  env: NodeJS.ProcessEnv;
  /** What stands at the hub under a name and is not signed by its owner. */
  notice(text: string): void;
}

/** The fleet that the configuration names. */
export function openFleet(config: Config, folder: string, { workspace, env, notice }: FleetCall): Promise<FleetLink> {
  const name = workspace?.up.hostName() ?? "cli";
  return FleetLink.open(hubSettings(config, folder, name), config.nats_fleet, name, {
    person: true,
    rosters: rosterFiles(config, folder, new StateFolder(env)),
    doubt: notice,
  });
}

/** One workspace: rooms, each for one kind of work, over the same files. Others may have it open at the same time. */
export class Workspace extends HoldsContext {
  /** The folder `.agent-workspace`. */
  readonly root: string = this.context.layout.root;
  /** The configuration as it is in force: sizes in bytes, durations in milliseconds. */
  readonly config: Config = this.context.config;
  /** The first choice could not be written, so that this is `fallbackDir`. */
  readonly usedFallback: boolean;
  /** Agents: start, stop with proof, restart, wait, list, show. */
  readonly runs: Runs = new Runs(this.context);
  /** What they printed: read, follow, page, search. */
  readonly logs: Logs = new Logs(this.context);
  /** The files of those that ended: archive, restore, prune. */
  readonly files: Files = new Files(this.context);
  /** Messages to them, and what they report. */
  readonly mail: Mail = new Mail(this.context);
  /** The shared journal: events, snapshots, checkpoints, who leads. */
  readonly journal: SharedJournal = new SharedJournal(this.context);
  /** What they are doing, what it costs, and who needs a person. */
  readonly verdicts: Verdicts = new Verdicts(this.context);
  /** How much may be spent, and what is. */
  readonly budgets: Budgets = new Budgets(this.context);
  /** What `midwatch up` keeps going. */
  readonly up: Up = new Up(this.context);
  /** The journal of other machines, by git. */
  readonly remote: Remote = new Remote(this.context);
  /** Messages to people. */
  readonly alerts: Alerting = new Alerting(this.context);
  /** What a person lets act here. */
  readonly trust: Trusting = new Trusting(this.context);
  /** What a server of this workspace needs. */
  readonly http: Http = new Http(this.context);
  readonly #borrowed: boolean;

  constructor(context: Context, usedFallback = false, borrowed = false) {
    super(context);
    this.#borrowed = borrowed;
    this.usedFallback = usedFallback;
  }

  /** The same workspace in the name of a known caller; what is open is shared, and closing this one closes nothing. */
  as(caller: Caller, flags: ConfigInput = {}): Workspace {
    const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
    const asked = Object.keys(given).length === 0 ? this.config : loadConfig({ flags: { ...this.config, ...given } });
    const config = caller.agent === undefined ? asked : stricter(this.config, asked);
    return new Workspace({ ...this.context, caller, config }, this.usedFallback, true);
  }

  /** What of the configuration does not count, and what can only be read, in a sentence each. */
  cautions(): string[] {
    const { config, ownership } = this.context.trust;
    const said: string[] = [];
    const ignored = config.ignored.filter((name) => name !== "budget");
    if (ignored.length > 0)
      said.push(`${config.path} is not trusted: ${ignored.join(", ")} do not count. Next: midwatch trust`);
    else if (config.ignored.length > 0)
      said.push(`${config.path} is not trusted: its budget counts only where it is stricter. Next: midwatch trust`);
    if (ownership.why !== undefined)
      said.push(`${this.root} is only read: ${ownership.why}. Next: midwatch trust --workspace`);
    const { fault } = this.context.prices;
    if (fault !== undefined)
      said.push(`${fault.message} Those that midwatch comes with count. ${fault.hint ?? ""}`.trim());
    return said;
  }

  /** Who asks, as far as processes above us and the environment tell. */
  caller(): Caller {
    return { agent: callingAgent(this.context) };
  }

  /** Whether a person asks, and no agent. */
  isPersons(): boolean {
    return callingAgent(this.context) === undefined;
  }

  /** Makes the registry anew from the folders. */
  rebuild(): { tasks: number; agents: number; runs: number } {
    assertPerson(this.context, "make the registry anew");
    const contents = withWriter(this.context, (registry) => rebuildFrom(this.context.layout, registry));
    return { tasks: contents.tasks.length, agents: contents.agents.length, runs: contents.runs.length };
  }

  /** Lets go of files. Agents go on: nothing of theirs hangs on who opened the workspace. */
  close(): void {
    this.verdicts.close();
    if (this.#borrowed) return;
    this.context.registries.close();
    this.context.ledger.close();
    void this.context.journal.close().catch(() => undefined); // What was acknowledged is on the disk already.
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What is wrong with the registry's file; empty when it is sound. */
  checkRegistry(): string[] {
    let problems: string[] = [];
    catchUp(this.context, (registry) => {
      problems = registry.integrity();
    });
    return problems;
  }
}
