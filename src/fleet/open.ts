/** From a place on the disk to what every function over a workspace needs. */
import { join, resolve } from "node:path";
import { budgetsFrom } from "../core/config/budget.ts";
import { type Config, type ConfigInput, loadConfig } from "../core/config/config.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { setOnlyRead } from "../disk/guard/only-read.ts";
import { assertOwner } from "../disk/guard/owner.ts";
import { StateFolder } from "../disk/guard/state-folder.ts";
import { type Layout, layout } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { findOrMakeWorkspace, findWorkspace, makeWorkspace } from "../disk/workspace.ts";
import { rebuildFrom } from "../facts/folders.ts";
import { keepersOf } from "../facts/keepers-of.ts";
import { EmbeddedEngine } from "../journal/embedded-engine.ts";
import { fenced } from "../journal/term.ts";
import { thresholdsFrom } from "../judge/thresholds.ts";
import { keepersAbove } from "../process/identity.ts";
import { Ledger } from "../spend/ledger.ts";
import { LISTED, type Prices, parsePrices } from "../spend/prices.ts";
import { AllOrigins } from "../sync/all-origins.ts";
import { readConfig } from "../trust/config-trust.ts";
import { ownership, recordIfFresh } from "../trust/workspace-trust.ts";
import { maskOutgoing } from "../up/sync.ts";
import { audit } from "../workspace/audit.ts";
import { amCompanion, companionOf } from "../workspace/companion.ts";
import { type ArchiveStep, type Context, type LaunchStep, Registries } from "../workspace/context.ts";
import { assertOurs, isOurs, type Trust } from "../workspace/trust.ts";

/** Which workspace, and how; without any, the one of this folder or the nearest above it. */
export interface OpenOptions {
  /** The workspace folder, or the project folder that holds it. Default: MIDWATCH_WORKSPACE, else the nearest upward. */
  workspace?: string | undefined;
  /** Make the workspace when there is none. */
  make?: boolean;
  /** Used as the workspace when the first choice cannot be written. */
  fallbackDir?: string | undefined;
  config?: ConfigInput;
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  onStep?: (step: LaunchStep | ArchiveStep) => void;
}

export function open(options: OpenOptions): { context: Context; usedFallback: boolean } {
  const cwd = options.cwd ?? process.cwd();
  const env = { ...(options.env ?? process.env) } as NodeJS.ProcessEnv;
  // Before anything is made: a mistyped flag must not leave a workspace behind.
  loadConfig({ env, flags: options.config ?? {} });
  const { root, usedFallback } = findRoot(options, cwd, env);
  const paths = layout(root);
  const trust = trustOf(paths, env, options.make ?? false);
  const { value, trusted } = trust.config;
  const config = loadConfig({ file: value, trusted, env, flags: options.config ?? {} });
  const { drivers, headings, alerts, rules, budget } = (value ?? {}) as Record<string, unknown>;
  budgetsFrom(budget); // A limit with a slip of the pen is none: said before anything is started.
  const engine = new EmbeddedEngine(paths);
  const own = fenced(engine);
  const context: Context = {
    layout: paths,
    trust,
    config,
    persons: loadConfig({ file: value, trusted }),
    env,
    cwd,
    registries: new Registries(paths, rebuildFrom, isOurs({ trust })),
    ledger: new Ledger(
      () => trust.state.place("spend.db"),
      (aside) => tellSetAside(context, aside),
    ),
    prices: pricesOf(paths, config),
    drivers: trusted ? drivers : undefined,
    headings,
    alerts: trusted ? alerts : undefined,
    thresholds: thresholdsFrom(rules),
    engine,
    own,
    journal: new AllOrigins(paths, own, () => maskOutgoing(context)),
    onStep: options.onStep,
  };
  return { context, usedFallback };
}

/** The list that comes with midwatch, and before it the user's own. */
export function pricesOf({ root }: Layout, { prices_file: file }: Config): Prices {
  if (file === "") return LISTED;
  const path = resolve(root, "..", file);
  const text = readText(path);
  if (text === undefined) {
    const hint = "Paths in midwatch.config.json begin at its folder.";
    return LISTED.despite(new MidwatchError("BAD_CONFIG", `prices_file: ${quote(path)} cannot be read.`, { hint }));
  }
  try {
    return LISTED.with(parsePrices(path, text));
  } catch (error) {
    return LISTED.despite(toMidwatchError(error));
  }
}

function tellSetAside(context: Context, aside: string): void {
  const content = `The ledger of what agents cost was damaged and is now ${aside}. A new one was begun.`;
  audit(context, [{ type: "error", content, data: { path: aside } }]);
}

function findRoot(options: OpenOptions, cwd: string, env: NodeJS.ProcessEnv): { root: string; usedFallback: boolean } {
  const query = { explicit: options.workspace, env, cwd };
  const check = (root: string): void => void trustOf(layout(root), env, true);
  try {
    return { root: options.make ? findOrMakeWorkspace(query, check) : findWorkspace(query), usedFallback: false };
  } catch (error) {
    const mayFallBack =
      options.fallbackDir !== undefined &&
      error instanceof MidwatchError &&
      ["NOT_WRITABLE", "DISK_FULL"].includes(error.code);
    if (!mayFallBack) throw error;
    return { root: makeWorkspace(options.fallbackDir as string, check), usedFallback: true };
  }
}

/** Who may act here. With `make` the caller is about to: then a workspace that is not ours is refused before anything is written. */
function trustOf(paths: Layout, env: NodeJS.ProcessEnv, make: boolean): Trust {
  const { root } = paths;
  assertOwner(root, "The workspace", env);
  const state = new StateFolder(env);
  if (make) recordIfFresh(paths, state);
  const trust = {
    state,
    config: readConfig(join(root, "..", "midwatch.config.json"), state, () => givenHashes(env, state, paths)),
    ownership: ownership(paths, state, keepersOf(paths)),
  };
  setOnlyRead(root, !isOurs({ trust }));
  if (make) assertOurs({ trust, layout: paths });
  return trust;
}

/** An agent cannot vouch for what it wrote itself; for its companion a person did so. */
function givenHashes(env: NodeJS.ProcessEnv, state: StateFolder, paths: Layout): readonly string[] {
  const place = { layout: paths, trust: { state } };
  if (amCompanion(place)) return companionOf(place)?.trusts ?? [];
  const { MIDWATCH_TRUST: given = "", MIDWATCH_AGENT: agent } = env;
  if (given === "" || agent || keepersAbove().length > 0) return [];
  return given.toLowerCase().split(/[\s,]+/);
}
