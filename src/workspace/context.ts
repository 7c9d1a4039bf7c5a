/** What every function over a workspace needs, and the two ways to its registry. */
import { statSync } from "node:fs";
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { assertInside } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import type { SealStep } from "../disk/sealed.ts";
import type { Engine, EventLog } from "../journal/engine.ts";
import type { Thresholds } from "../judge/rules.ts";
import { isTakenAway } from "../registry/connection.ts";
import { Registry } from "../registry/registry.ts";
import type { Ledger } from "../spend/ledger.ts";
import type { Prices } from "../spend/prices.ts";
import { assertOurs, isOurs, type Trust } from "./trust.ts";

/** Which run of which agent of which task: what its folder and its files are found by. */
export type RunName = Pick<IntentFact, "task" | "agent" | "run">;

/** Points of a launch, in order; tests stop a launcher at each of them. */
export type LaunchStep = "reserved" | "folders" | "active" | "intent" | "answered";

/** Points of an archive or a restore, each for the log and then for stderr, and of a sealing; tests kill at each of them. */
export type ArchiveStep =
  | "checked"
  | "index moved"
  | "packed"
  | "compared"
  | "unpacked"
  | "placed"
  | "removed"
  | "stowed"
  | "remembered"
  | SealStep;

/** A person, or an agent. */
export interface Caller {
  agent: AgentId | undefined;
}

export interface Context {
  readonly layout: Layout;
  /** Who said that this workspace and its configuration may act. */
  readonly trust: Trust;
  readonly config: Config;
  /** What midwatch.config.json says by itself, without environment and flags: an agent's are its own words. */
  readonly persons: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly registries: Registries;
  /** What agents of all workspaces of this user cost; recorded by `recordSpend`. */
  readonly ledger: Ledger;
  readonly prices: Prices;
  /** `drivers` of midwatch.config.json, as it is. */
  readonly drivers?: unknown;
  /** `headings` of midwatch.config.json, as it is. */
  readonly headings?: unknown;
  /** `alerts` of midwatch.config.json, as it is. */
  readonly alerts?: unknown;
  /** `rules` of midwatch.config.json, checked. */
  readonly thresholds: Thresholds;
  /** The journal as readers see it: without what a leader wrote that had been followed, with what other machines wrote. */
  readonly journal: EventLog;
  /** The same, of this machine alone. */
  readonly own: EventLog;
  /** What it stands on, with its registers. */
  readonly engine: Engine;
  /** Who asks, when the door knows it (over HTTP, by the bearer). Missing: found out from the processes above us, and the environment. */
  readonly caller?: Caller | undefined;
  readonly onStep?: ((step: LaunchStep | ArchiveStep) => void) | undefined;
}

/** Rows catch up later when the write lock is not to be had at once: stop, logs and show never wait for it. */
const CATCH_UP_MS = 50;
const CATCH_UP_LATER: readonly string[] = [
  "REGISTRY_BUSY",
  "REGISTRY_NEWER",
  "DISK_FULL",
  "NOT_WRITABLE",
  "NO_RESOURCES",
];

/** How often one whose database is taken away or damaged looks again. */
const TRIES = 5;

type Kind = "reader" | "writer" | "catchUp";
const OPTIONS = { reader: { readOnly: true }, catchUp: { busyMs: CATCH_UP_MS } } as const;

/** Open connections, kept while the file is the same one: a deleted database is noticed and made again. */
export class Registries {
  readonly #layout: Layout;
  readonly #rebuild: (layout: Layout, registry: Registry) => unknown;
  readonly #open = new Map<Kind, { registry: Registry; ino: bigint | undefined }>();

  /** A database that is not ours is not opened: the folders are read into memory instead. */
  readonly #ours: boolean;
  #writer: { busyMs?: number } = {};

  /** `rebuild` fills an empty registry from the folders. */
  constructor(layout: Layout, rebuild: (layout: Layout, registry: Registry) => unknown, ours = true) {
    this.#layout = layout;
    this.#rebuild = rebuild;
    this.#ours = ours;
  }

  /**
   * For a process that serves others: whoever waits for the write lock stands still, and all of them with it. It waits `busyMs` for a
   * holder that stands still, ten times that where the lock goes from hand to hand, and then says REGISTRY_BUSY.
   */
  hurry(busyMs: number): void {
    this.#writer = { busyMs };
    this.#drop("writer");
  }

  /**
   * A database that turns out to be damaged is opened again: that puts it aside and makes a new one. So is one that was taken away
   * from a reader, or while it was opened; a writer that does not know how far it came says so.
   */
  use<T>(kind: Kind, act: (registry: Registry) => T): T {
    for (let tries = 1; ; tries++) {
      let opened = false;
      try {
        const registry = this.#get(kind);
        opened = true;
        return act(registry);
      } catch (error) {
        const corrupt = error instanceof MidwatchError && error.code === "REGISTRY_CORRUPT";
        const gone = (kind === "reader" || !opened) && isTakenAway(error);
        if (!(corrupt || gone) || tries >= TRIES) throw error;
        this.close(); // All of them: an old connection of ours would keep the new one from the file.
      }
    }
  }

  #get(kind: Kind): Registry {
    const path = this.#layout.registry;
    const kept = this.#open.get(kind);
    if (!this.#ours) return kept?.registry ?? this.#fromFolders(kind);
    if (kept !== undefined && kept.ino !== undefined && kept.ino === inode(path)) return kept.registry;
    this.#drop(kind);
    // SQLite follows a link, and would write to whatever is behind it.
    assertInside(this.#layout.root, path);
    let ino = inode(path);
    let registry = Registry.open(path, kind === "writer" ? this.#writer : OPTIONS[kind]);
    try {
      if (registry.needsRebuild) {
        if (kind === "reader") {
          // No file yet, or not filled yet by whoever makes it: the folders are read into memory, and again next time.
          registry.close();
          registry = Registry.open(":memory:");
          ino = undefined;
        }
        this.#rebuild(this.#layout, registry);
      }
    } catch (error) {
      registry.close();
      throw error;
    }
    this.#open.set(kind, { registry, ino: kind === "reader" ? ino : inode(path) });
    return registry;
  }

  #fromFolders(kind: Kind): Registry {
    const registry = Registry.open(":memory:");
    this.#rebuild(this.#layout, registry);
    this.#open.set(kind, { registry, ino: undefined });
    return registry;
  }

  #drop(kind: Kind): void {
    this.#open.get(kind)?.registry.close();
    this.#open.delete(kind);
  }

  close(): void {
    for (const { registry } of this.#open.values()) registry.close();
    this.#open.clear();
  }
}

export function withWriter<T>(context: Context, act: (registry: Registry) => T): T {
  assertOurs(context);
  return context.registries.use("writer", act);
}

/** Reads without ever needing the write lock; a missing or unusable database is replaced by the folders themselves. */
export function withReader<T>(context: Context, act: (registry: Registry) => T): T {
  return context.registries.use("reader", act);
}

/** Tells the registry if it can be had now. */
export function catchUp(context: Context, act: (registry: Registry) => void): boolean {
  if (!isOurs(context)) return false;
  try {
    context.registries.use("catchUp", act);
    return true;
  } catch (error) {
    if (error instanceof MidwatchError && CATCH_UP_LATER.includes(error.code)) return false;
    throw error;
  }
}

function inode(path: string): bigint | undefined {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    return undefined;
  }
}
