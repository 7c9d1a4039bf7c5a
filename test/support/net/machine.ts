/** A machine that takes part in a sync: a workspace of its own, as if it were alone on its disk. No vitest in here: the soak uses it too. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../../src/core/config/config.ts";
import { maskValue } from "../../../src/core/mask/mask.ts";
import { type Layout, layout } from "../../../src/disk/layout.ts";
import { EmbeddedLog } from "../../../src/journal/embedded.ts";
import type { Stored } from "../../../src/journal/engine.ts";
import { type JournalEvent, makeEvent } from "../../../src/journal/event.ts";
import { headingsOf } from "../../../src/journal/snapshot/render.ts";
import { takeSnapshot } from "../../../src/journal/snapshot/snapshot.ts";
import { AllOrigins } from "../../../src/sync/all-origins.ts";
import { findRemote } from "../../../src/sync/remote.ts";
import type { SyncStatus } from "../../../src/sync/state.ts";
import { Syncer, type SyncOptions } from "../../../src/sync/sync.ts";
import { fileOf, gather } from "../data/journal.ts";

const mask = () => (event: JournalEvent) => maskValue(event) as JournalEvent;

export class Machine {
  readonly root: string;
  readonly layout: Layout;
  readonly log: EmbeddedLog;
  readonly all: AllOrigins;
  readonly told: string[] = [];
  readonly said: string[] = [];
  readonly #env: NodeJS.ProcessEnv;
  readonly #syncers = new Map<string, Syncer>();

  constructor(folder: string, env: NodeJS.ProcessEnv = process.env) {
    this.root = join(folder, ".agent-workspace");
    mkdirSync(this.root, { recursive: true });
    this.layout = layout(this.root);
    this.log = new EmbeddedLog(this.layout.events);
    this.all = new AllOrigins(this.layout, this.log, mask);
    // Nothing of the user's own may answer for the test: no helper, no key, no name.
    this.#env = { ...env, HOME: folder, XDG_CONFIG_HOME: join(folder, ".config"), GIT_CONFIG_NOSYSTEM: "1" };
  }

  /** Durable when it returns, and remembered. */
  async say(interaction: number, ...contents: string[]): Promise<void> {
    const events = contents.map((content) => makeEvent({ interaction, actor: "Agent A", type: "question", content }));
    await this.log.append(events);
    this.said.push(...events.map(({ id }) => id));
  }

  /** A second takes 5 ms, so that five retries take no time. */
  async syncer(remote: string, more: Partial<SyncOptions> = {}): Promise<Syncer> {
    const found = await findRemote(this.layout, loadConfig({ flags: { sync_remote: remote } }), this.#env);
    if (found === undefined) throw new Error("no remote");
    const tell = (text: string): void => void this.told.push(text);
    const { layout, log } = this;
    const view = { keep: 3, headings: headingsOf(undefined) };
    return new Syncer({
      ...{ view, layout, log, mask, remote: found, env: this.#env, everyMs: 0, tell, secondMs: 5, networkMs: 60_000 },
      ...more,
    });
  }

  async sync(remote: string, more?: Partial<SyncOptions>): Promise<SyncStatus> {
    const known = more === undefined ? this.#syncers.get(remote) : undefined;
    const syncer = known ?? (await this.syncer(remote, more));
    if (more === undefined) this.#syncers.set(remote, syncer);
    return await syncer.sync();
  }

  async read(): Promise<Stored[]> {
    return (await gather(this.all.read())).filter((item): item is Stored => "event" in item);
  }

  /** Both files as one text. */
  async snapshot(rebuild = false): Promise<string> {
    await takeSnapshot(this.layout, this.all, { keep: 3, headings: headingsOf(undefined), rebuild });
    return fileOf(this.root, "communication.md") + fileOf(this.root, "archive.md");
  }

  async close(): Promise<void> {
    await this.log.close();
  }
}
