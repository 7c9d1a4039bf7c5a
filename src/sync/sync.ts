/**
 * Syncing, with what can go wrong. What may pass is tried again after 1, 2, 4, 8 and 16 s; then we are offline, say so once in the
 * journal, and try now and then. What a person has to mend stops it at once. Nothing is queued anywhere: the journal is the queue.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import type { Layout } from "../disk/layout.ts";
import type { EventLog } from "../journal/engine.ts";
import { makeEvent } from "../journal/event.ts";
import { exportOwn, type Mask } from "./export.ts";
import type { SyncFault } from "./fault.ts";
import { Importer } from "./import.ts";
import { credentialsMark, type Remote } from "./remote.ts";
import { Repository, SyncFailure } from "./repository.ts";
import { type RoundResult, type RoundTools, round, type SyncStep } from "./round.ts";
import { keepState, readState, type SyncState, type SyncStatus, showWaiting, syncStatus } from "./state.ts";
import type { ViewOptions } from "./view.ts";

export interface SyncOptions {
  layout: Layout;
  /** This machine's journal. */
  log: EventLog;
  mask: Mask;
  view: ViewOptions;
  remote: Remote;
  env: NodeJS.ProcessEnv;
  everyMs: number;
  /** For a person, beside the status. */
  tell(text: string): void;
  signal?: AbortSignal | undefined;
  /** How long to wait for another process that syncs. */
  waitMs?: number | undefined;
  /** How long a call of git may take. */
  networkMs?: number | undefined;
  /** How long a second is; tests have no time. */
  secondMs?: number | undefined;
  onStep?: ((step: SyncStep) => void) | undefined;
}

const RETRIES = 5;
const WAIT_MS = 30_000;
const OFFLINE_MAX_MS = 5 * 60_000;
/** A server's rules and addresses change without a sign here; credentials that are wrong are not tried again and again. */
const LOOK_AGAIN_MS = 10 * 60_000;
const STOPS: readonly SyncFault[] = ["auth", "gone", "policy", "too_large"];

export class Syncer {
  readonly #options: SyncOptions;
  readonly #tools: RoundTools;
  #checked = false;
  #triedMs = Number.NEGATIVE_INFINITY;

  constructor(options: SyncOptions) {
    const { layout, log, mask, view, remote, env, signal, networkMs, onStep } = options;
    this.#options = options;
    const repository = new Repository(layout, remote, env, { signal, networkMs });
    this.#tools = { layout, log, mask, view, repository, importer: new Importer(layout, repository), onStep };
  }

  /** Until it is done, is offline, or has to stop. Throws SYNC_BUSY, and write errors of this machine. */
  async sync(): Promise<SyncStatus> {
    const { layout, tell, signal } = this.#options;
    for (let tries = 0; ; tries++) {
      try {
        return this.#succeeded(await this.#round());
      } catch (error) {
        if (!(error instanceof SyncFailure)) throw error;
        if (signal?.aborted) return this.#status(); // We ended it ourselves: that says nothing about the remote.
        const patient = !STOPS.includes(error.fault) && readState(layout)?.state !== "offline";
        if (!patient || tries >= RETRIES) return await this.#failed(error, tries + 1);
        tell(`${error.message} Trying again in ${2 ** tries} s.`);
        await this.#wait(1000 * 2 ** tries * (0.8 + 0.4 * Math.random()));
      }
    }
  }

  /** Whether it is time, by how it stands. */
  isDue(): boolean {
    const { layout, everyMs, remote, env } = this.#options;
    const state = readState(layout);
    const passed = performance.now() - this.#triedMs;
    if (state === undefined || passed === Number.POSITIVE_INFINITY) return true;
    if (state.state === "stopped") {
      if (passed < Math.min(everyMs, 1000)) return false;
      const mayHaveChanged = state.fault !== "auth" && passed >= LOOK_AGAIN_MS;
      return mayHaveChanged || credentialsMark(remote, env) !== state.credentials;
    }
    const calm = state.state === "offline" ? Math.min(OFFLINE_MAX_MS, 1000 * 2 ** Math.min(state.failures, 20)) : 0;
    return passed >= Math.max(everyMs, calm);
  }

  async #round(): Promise<RoundResult> {
    const { waitMs = WAIT_MS } = this.#options;
    const options = { waitMs, check: !this.#checked };
    this.#triedMs = performance.now();
    let result: RoundResult;
    try {
      result = await round(this.#tools, options);
    } catch (error) {
      if (!(error instanceof SyncFailure && error.fault === "local" && BROKEN.test(error.message))) throw error;
      this.#tools.repository.discard(); // An index of what is elsewhere; made anew at once.
      result = await round(this.#tools, options);
    } finally {
      this.#triedMs = performance.now();
    }
    this.#checked = true;
    return result;
  }

  #succeeded({ synced, rewritten }: RoundResult): SyncStatus {
    const { layout, tell, onStep } = this.#options;
    const before = readState(layout);
    if (before !== undefined && before.state !== "ok") tell(`Sync works again; since ${before.since} it did not.`);
    if (rewritten.length > 0 && before?.rewritten.join() !== rewritten.join())
      tell(`The branch was rewritten: ${rewritten.join(", ")} there does not continue what is here, which stays.`);
    this.#keep({ state: "ok", fault: null, message: null, synced, rewritten, failures: 0, synced_at: iso() });
    showWaiting(layout, synced);
    onStep?.("remembered");
    return this.#status();
  }

  async #failed({ fault, message }: SyncFailure, tries: number): Promise<SyncStatus> {
    const { layout, log, mask, remote, tell } = this.#options;
    const state = STOPS.includes(fault) ? "stopped" : "offline";
    const before = readState(layout);
    if (before?.state !== state || before.fault !== fault) {
      const content =
        state === "stopped"
          ? `Sync with ${remote.shown} stopped (${fault}): ${message}`
          : `Sync with ${remote.shown} is offline after ${tries} tries (${fault}): ${message}`;
      tell(content);
      await log.append([
        makeEvent({ interaction: 0, actor: "midwatch", type: "error", content, data: { sync: state, fault } }),
      ]);
    }
    await exportOwn(layout, log, mask);
    this.#keep({ state, fault, message, failures: (before?.failures ?? 0) + tries });
    showWaiting(layout, readState(layout)?.synced ?? 0);
    return this.#status();
  }

  #keep(change: Partial<SyncState> & Pick<SyncState, "state">): void {
    const { layout, remote, env } = this.#options;
    const now = iso();
    const known = readState(layout);
    // Another remote has none of ours, as far as we know.
    const before = known === undefined || known.remote === remote.shown ? known : { ...known, synced: 0 };
    keepState(layout, {
      ...{ v: 1, fault: null, message: null, synced_at: null, failures: 0, synced: 0, rewritten: [] },
      ...before,
      ...change,
      ...{ remote: remote.shown, branch: remote.branch, tried_at: now, credentials: credentialsMark(remote, env) },
      since: before?.state === change.state ? before.since : now,
    });
  }

  #status(): SyncStatus {
    const status = syncStatus(this.#options.layout);
    if (status !== undefined) return status;
    throw new MidwatchError("NOT_FOUND_FILE", "The folder `sync` of the workspace was taken away meanwhile.", {
      hint: "midwatch sync",
    });
  }

  async #wait(ms: number): Promise<void> {
    const { signal, secondMs = 1000 } = this.#options;
    await sleep((ms * secondMs) / 1000, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}
/** Our own repository is damaged. */
const BROKEN = /corrupt|is empty|bad object|missing (blob|tree|commit)|invalid sha1|not a valid object/i;
