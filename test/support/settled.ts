import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { loadConfig } from "../../src/core/config/config.ts";
import { monoMs } from "../../src/core/time.ts";
import { layout } from "../../src/disk/layout.ts";
import { rebuildFrom } from "../../src/facts/folders.ts";
import { EmbeddedEngine } from "../../src/journal/embedded-engine.ts";
import { reconcile } from "../../src/run/reconcile.ts";
import { Ledger } from "../../src/spend/ledger.ts";
import { LISTED } from "../../src/spend/prices.ts";
import { type Context, Registries } from "../../src/workspace/context.ts";
import { trusted } from "./trusted.ts";
import type { Lab } from "./workspace.ts";

/** What a process sees 11 s from now, when the time for a launch is over. */
export async function lookLater(at: Lab, times = 1): Promise<void> {
  const paths = layout(at.root);
  const registries = new Registries(paths, rebuildFrom);
  const engine = new EmbeddedEngine(paths);
  const context: Context = {
    layout: paths,
    trust: trusted(at.folder),
    config: loadConfig(),
    persons: loadConfig(),
    env: process.env,
    cwd: at.folder,
    thresholds: {},
    registries,
    ledger: new Ledger(() => ":memory:"),
    prices: LISTED,
    engine,
    own: engine,
    journal: engine,
  };
  for (let i = 0; i < times; i++) await reconcile(context, { nowMs: monoMs() + 11_000 });
  registries.close();
}

/** No mark and no process is left over, and the registry says what the folders say. */
export async function expectSettled(at: Lab): Promise<void> {
  await at.open().runs.list();
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
  const rows = await at.open().runs.list({ all: true });
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(at.root, `midwatch.db${suffix}`), { force: true });
  expect(await at.open().runs.list({ all: true })).toEqual(rows);
  expect(at.survivors()).toEqual([]);
}
