/** From a place on the disk to what every function over a workspace needs. */
import { join } from "node:path";
import { type ConfigInput, loadConfig } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { layout } from "../disk/layout.ts";
import { readJson } from "../disk/replace.ts";
import { findOrMakeWorkspace, findWorkspace, makeWorkspace } from "../disk/workspace.ts";
import { rebuildFrom } from "../facts/folders.ts";
import { EmbeddedEngine } from "../journal/embedded-engine.ts";
import { fenced } from "../journal/term.ts";
import { thresholdsFrom } from "../judge/thresholds.ts";
import { AllOrigins } from "../sync/all-origins.ts";
import { maskOutgoing } from "../up/sync.ts";
import { type ArchiveStep, type Context, type LaunchStep, Registries } from "../workspace/context.ts";

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
  const file = readJson(join(root, "..", "midwatch.config.json"));
  if (file.reason !== undefined)
    throw new MidwatchError("BAD_CONFIG", file.reason, { hint: "Mend or remove the file." });
  const config = loadConfig({ file: file.value, env, flags: options.config ?? {} });
  const paths = layout(root);
  const engine = new EmbeddedEngine(paths);
  const own = fenced(engine);
  const context: Context = {
    layout: paths,
    config,
    persons: loadConfig({ file: file.value }),
    env,
    cwd,
    registries: new Registries(paths, rebuildFrom),
    drivers: (file.value as { drivers?: unknown } | undefined)?.drivers,
    headings: (file.value as { headings?: unknown } | undefined)?.headings,
    alerts: (file.value as { alerts?: unknown } | undefined)?.alerts,
    thresholds: thresholdsFrom((file.value as { rules?: unknown } | undefined)?.rules),
    engine,
    own,
    journal: new AllOrigins(paths, own, () => maskOutgoing(context)),
    onStep: options.onStep,
  };
  return { context, usedFallback };
}

function findRoot(options: OpenOptions, cwd: string, env: NodeJS.ProcessEnv): { root: string; usedFallback: boolean } {
  const query = { explicit: options.workspace, env, cwd };
  try {
    return { root: options.make ? findOrMakeWorkspace(query) : findWorkspace(query), usedFallback: false };
  } catch (error) {
    const mayFallBack =
      options.fallbackDir !== undefined &&
      error instanceof MidwatchError &&
      ["NOT_WRITABLE", "DISK_FULL"].includes(error.code);
    if (!mayFallBack) throw error;
    return { root: makeWorkspace(options.fallbackDir as string), usedFallback: true };
  }
}
