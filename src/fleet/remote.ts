/** The journals of several machines as one, through a branch of a git remote. */
import type { SyncStatus } from "../sync/state.ts";
import { statusOf, sync, watchSync } from "../up/sync.ts";
import { initSync } from "../up/sync-init.ts";
import { assertPerson } from "../workspace/caller.ts";
import { HoldsContext } from "./holds-context.ts";

export class Remote extends HoldsContext {
  /** Exchanges events with the remote, once; retries and faults are in the status. */
  async sync(options: { signal?: AbortSignal | undefined; tell?(text: string): void } = {}): Promise<SyncStatus> {
    assertPerson(this.acting, "sync the journal");
    return await sync(this.context, { tell: () => undefined, ...options });
  }

  /** Again and again; told whenever something has changed. */
  async *watch(options: { signal: AbortSignal; tell(text: string): void }): AsyncGenerator<SyncStatus> {
    assertPerson(this.acting, "sync the journal");
    yield* watchSync(this.context, options);
  }

  /** Undefined when this workspace was never synced. */
  status(): Promise<SyncStatus | undefined> {
    return statusOf(this.context);
  }

  /** Sets up what sync needs: a repository, the base files, a remote. Says first what it will do; gives whether there is a remote. */
  async init(tell: (text: string) => void): Promise<boolean> {
    assertPerson(this.acting, "set up sync");
    return await initSync(this.context, tell);
  }
}
