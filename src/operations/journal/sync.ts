import type { SyncStatus } from "../../fleet/workspace.ts";
import { configFlag } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, paint, table } from "../render.ts";

const COLORS = { ok: "green", never: "yellow", offline: "yellow", stopped: "red" } as const;

export const sync: Operation = operation({
  name: "sync",
  summary: "Exchange the journal with other machines through a branch of a git remote",
  details:
    "Events of all machines then appear in `events` and in the snapshot, which is the same everywhere. Secrets are masked on the way out. The project's own repository, its index, branches and stash are never touched. Failures of the network are tried again five times, then it is offline: events wait here (events.offline.log) and nothing is lost. Exit 1 unless everything is synced. `midwatch up` does this by itself when `sync_remote` is set (docs/sync.md).",
  input: z.strictObject({
    watch: z.boolean().describe("Go on until Ctrl-C").default(false),
    init: z
      .boolean()
      .describe(
        "First make and commit what is missing: a repository, scripts, links to the journal's files; a remote with gh. Says what before it does it",
      )
      .default(false),
    status: z.boolean().describe("Only tell how it stands").default(false),
    remote: configFlag("sync_remote"),
    branch: configFlag("sync_branch"),
    every: configFlag("sync_every"),
  }),
  changes: true,
  examples: ["midwatch sync", "midwatch sync --remote git@example.com:team/journal.git", "midwatch sync --status"],
  async *run(context, { watch, init, status, remote, branch, every }) {
    const config = { sync_remote: remote, sync_branch: branch, sync_every: every };
    using workspace = workspaceOf(context, { make: init, config });
    const tell = (text: string): void => context.notice(text);
    if (status) {
      yield (await workspace.remote.status()) ?? NEVER;
      return;
    }
    if (init && !(await workspace.remote.init(tell))) {
      yield (await workspace.remote.status()) ?? NEVER;
      return;
    }
    if (watch) yield* workspace.remote.watch({ signal: context.signal, tell });
    else yield await workspace.remote.sync({ signal: context.signal, tell });
  },
  render: (status, options) =>
    table([
      ["state", paint(status.state, COLORS[status.state], options)],
      ...(status.remote === "" ? [] : [["remote", `${status.remote}, branch ${status.branch}`]]),
      ...(status.message === null ? [] : [["why", `${status.fault}: ${status.message}`]]),
      ...(status.hint === null ? [] : [["next", status.hint]]),
      ["synced", status.synced_at === null ? "never" : `${age(status.synced_at)} ago`],
      ["events", `${status.synced} of ours are there, ${status.waiting} wait`],
      ...(status.rewritten.length === 0 ? [] : [["rewritten", status.rewritten.join(", ")]]),
      ["origins", status.origins.map((origin) => (origin === status.origin ? `${origin} (this)` : origin)).join(", ")],
    ]),
  next: ({ state }) => (state === "ok" ? "midwatch snapshot" : undefined),
  exitCode: ({ state, tried_at }) => (state === "ok" || tried_at === "" ? 0 : 1),
});

const NEVER: SyncStatus = {
  ...{ state: "never", fault: null, message: null, hint: null, remote: "", branch: "", origin: "", origins: [] },
  ...{ since: "", tried_at: "", synced_at: null, failures: 0, synced: 0, waiting: 0, rewritten: [] },
};

/** In one line, for `health`. */
export function syncLine({ state, message, waiting, remote, synced_at }: SyncStatus): string {
  const last = synced_at === null ? "never synced" : `last ${age(synced_at)} ago`;
  return `${state} with ${remote || "nothing yet"}, ${last}, ${waiting} waiting${message === null ? "" : `: ${message}`}`;
}
