/** What every function over a workspace needs, and the two ways to its registry. */
import { statSync } from "node:fs";
import type { Config } from "../core/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { Layout } from "../disk/layout.ts";
import { Registry } from "../registry/registry.ts";
import { readFolders } from "./folders.ts";

/** Points of a launch, in order; tests stop a launcher at each of them. */
export type LaunchStep = "reserved" | "folders" | "active" | "intent" | "answered";

export interface Context {
  readonly layout: Layout;
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly registries: Registries;
  readonly onStep?: ((step: LaunchStep) => void) | undefined;
}

/** Rows catch up later when the write lock is not to be had at once: stop, logs and show never wait for it. */
const CATCH_UP_MS = 50;
const CATCH_UP_LATER: readonly string[] = ["REGISTRY_BUSY", "DISK_FULL", "NOT_WRITABLE"];

type Kind = "reader" | "writer" | "catchUp";
const OPTIONS = { reader: { readOnly: true }, writer: {}, catchUp: { busyMs: CATCH_UP_MS } } as const;

/** Open connections, kept while the file is the same one: a deleted database is noticed and made again. */
export class Registries {
  readonly #layout: Layout;
  readonly #open = new Map<Kind, { registry: Registry; ino: bigint | undefined }>();

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  get(kind: Kind): Registry {
    const path = this.#layout.registry;
    const kept = this.#open.get(kind);
    if (kept !== undefined && kept.ino !== undefined && kept.ino === inode(path)) return kept.registry;
    kept?.registry.close();
    this.#open.delete(kind);
    // A reader without a file is an empty registry in memory: it is filled from the folders, and looked at again next time.
    const before = inode(path);
    const registry = Registry.open(path, OPTIONS[kind]);
    try {
      if (registry.needsRebuild) registry.rebuild(readFolders(this.#layout));
    } catch (error) {
      registry.close();
      throw error;
    }
    this.#open.set(kind, { registry, ino: kind === "reader" ? before : inode(path) });
    return registry;
  }

  close(): void {
    for (const { registry } of this.#open.values()) registry.close();
    this.#open.clear();
  }
}

export function withWriter<T>(context: Context, act: (registry: Registry) => T): T {
  return act(context.registries.get("writer"));
}

/** Reads without ever needing the write lock; a missing or unusable database is replaced by the folders themselves. */
export function withReader<T>(context: Context, act: (registry: Registry) => T): T {
  return act(context.registries.get("reader"));
}

/** Tells the registry if it can be had now. */
export function catchUp(context: Context, act: (registry: Registry) => void): boolean {
  try {
    act(context.registries.get("catchUp"));
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
