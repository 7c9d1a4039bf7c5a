/** Git sync of this workspace's journal, for its callers: what hides secrets on the way out, and the loop of `midwatch up`. */
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { isAgentId } from "../core/ids.ts";
import { type Masker, maskText, maskValue } from "../core/mask/mask.ts";
import type { JournalEvent } from "../journal/event.ts";
import type { HealthRecord } from "../journal/health.ts";
import { Pause } from "../journal/pause.ts";
import { headingsOf } from "../journal/snapshot/render.ts";
import { snapshot } from "../messages/journal.ts";
import { Maskers } from "../stream/maskers.ts";
import { exportOwn } from "../sync/export.ts";
import { findRemote } from "../sync/remote.ts";
import { type SyncStatus, syncStatus } from "../sync/state.ts";
import { Syncer } from "../sync/sync.ts";
import type { Context } from "../workspace/context.ts";

interface SyncCall {
  tell(text: string): void;
  signal?: AbortSignal | undefined;
}

const LOOK_MS = 500;

/** What an agent's run knows to be secret is hidden in its events, and what looks like a secret in all. */
export function maskOutgoing(context: Context): (event: JournalEvent) => JournalEvent {
  const maskers = new Maskers(context);
  const known = new Map<string, Masker>();
  const maskerOf = (agent: unknown): Masker | undefined => {
    if (!isAgentId(agent)) return undefined;
    const made = known.get(agent) ?? maskers.ofAgent(agent);
    known.set(agent, made);
    return made;
  };
  return (event) => {
    const { v, id, interaction, type, timestamp, task, agent, ...rest } = event;
    const hide = maskerOf(agent);
    const masked = (hide === undefined ? maskValue(rest) : hide.value(rest)) as Partial<JournalEvent>;
    const { actor, content, ...more } = masked;
    const named = { ...(task === undefined ? {} : { task }), ...(agent === undefined ? {} : { agent }) };
    return { v, id, interaction, actor: actor ?? "?", type, content: content ?? "", timestamp, ...named, ...more };
  };
}

export async function sync(context: Context, call: SyncCall): Promise<SyncStatus> {
  const status = await (await syncer(context, call)).sync();
  if (status.state === "ok") await snapshot(context); // What came is there to be read, as at the remote.
  return status;
}

export async function* watchSync(
  context: Context,
  call: SyncCall & { signal: AbortSignal },
): AsyncGenerator<SyncStatus> {
  const { signal } = call;
  const made = await syncer(context, call);
  let shown = "";
  while (!signal.aborted) {
    if (made.isDue()) {
      const status = await made.sync();
      const { state, fault, synced, waiting, origins } = status;
      const now = JSON.stringify([state, fault, synced, waiting, origins]);
      if (now !== shown) yield status;
      shown = now;
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Undefined when this workspace was never synced. What was said since the last export counts as waiting. */
export async function statusOf(context: Context): Promise<SyncStatus | undefined> {
  const { layout, own } = context;
  try {
    await exportOwn(layout, own, () => maskOutgoing(context));
  } catch (error) {
    if (!(error instanceof MidwatchError)) throw error; // A disk that cannot be written: the rest can be told.
  }
  return syncStatus(layout);
}

/** What `health` says, with sync: a remote that is away is no failure, but worth a look. */
export async function withSync<T extends Pick<HealthRecord, "state">>(
  context: Context,
  record: T,
): Promise<T & { sync: SyncStatus | null }> {
  const sync = (await statusOf(context)) ?? null;
  const worry = record.state === "ok" && (sync?.state === "offline" || sync?.state === "stopped");
  return { ...record, state: worry ? "warning" : record.state, sync };
}

/**
 * For the loop: each call syncs when it is time. What goes wrong here stays here: a disk that cannot be written pauses sync alone, and
 * whatever else happens is told and tried again.
 */
export function syncRounds(context: Context, call: SyncCall): () => Promise<void> {
  const { config, engine } = context;
  const { signal } = call;
  const tell = (text: string): void => call.tell(maskText(`sync: ${text}`));
  const pause = new Pause(engine, { actor: `sync-${process.pid}`, mode: config.pause, tell, signal });
  let made: Syncer | undefined;
  let [problem, restUntil] = ["", 0];
  return async () => {
    if (config.sync_remote === "" || performance.now() < restUntil) return;
    try {
      made ??= await syncer(context, { tell, signal }, 0);
      if (made.isDue()) await pause.persist("Sync", () => (made as Syncer).sync());
      problem = "";
    } catch (error) {
      if (signal?.aborted) return;
      restUntil = performance.now() + config.sync_every;
      if (error instanceof MidwatchError && error.code === "SYNC_BUSY") return; // Somebody else does it.
      const message = error instanceof Error ? error.message : String(error);
      if (message !== problem) tell(message);
      problem = message;
    }
  };
}

async function syncer(context: Context, { tell, signal }: SyncCall, waitMs?: number): Promise<Syncer> {
  const { layout, config, env, own, headings } = context;
  const remote = await findRemote(layout, config, env);
  if (remote === undefined)
    throw new MidwatchError("NOT_FOUND_REMOTE", "There is no remote to sync the journal with.", {
      hint: "`git remote add origin URL` in the project, set `sync_remote` to a URL or path, or `midwatch sync --init`.",
    });
  const mask = (): ReturnType<typeof maskOutgoing> => maskOutgoing(context);
  const view = { keep: config.snapshot_keep, headings: headingsOf(headings) };
  return new Syncer({ layout, log: own, mask, view, remote, env, everyMs: config.sync_every, tell, signal, waitMs });
}
