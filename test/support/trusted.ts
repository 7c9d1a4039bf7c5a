/** What a person would have trusted: a workspace that a test made, and a configuration that it wrote. */
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StateFolder } from "../../src/disk/guard/state-folder.ts";
import { layout } from "../../src/disk/layout.ts";
import { readConfig, trustConfig } from "../../src/trust/config-trust.ts";
import { takeOver } from "../../src/trust/workspace-trust.ts";
import type { Trust } from "../../src/workspace/trust.ts";

const NAME = "midwatch.config.json";

/** For a context made by hand. */
export function trusted(folder: string): Trust {
  const state = new StateFolder(process.env);
  return { state, config: readConfig(join(folder, NAME), state, () => []), ownership: { why: undefined } };
}

/** As `midwatch trust --workspace` does. */
export function takeOverWorkspace(root: string): void {
  takeOver(layout(root), new StateFolder(process.env));
}

/** Writes the configuration of a project, and trusts it. */
export function writeConfig(folder: string, value: object, env: NodeJS.ProcessEnv = process.env): void {
  writeFileSync(join(folder, NAME), JSON.stringify(value));
  trustProject(folder, env);
}

/** Trusts the configuration as it is now. */
export function trustProject(folder: string, env: NodeJS.ProcessEnv = process.env): void {
  const state = new StateFolder(env);
  trustConfig(
    readConfig(join(realpathSync(folder), NAME), state, () => []),
    state,
    env,
  );
}
