/** What can be said before there is a workspace: is there such a driver, such a program, such a folder? */
import { resolve } from "node:path";
import { DRIVERS } from "../drivers/index.ts";
import { findRepository } from "../worktree/worktree.ts";
import { type StartOptions, wantsWorktree } from "./launch-plan.ts";
import { checkStart } from "./start.ts";

export async function checkRun(
  options: StartOptions,
  place: { cwd: string; env: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const name = options.driver ?? "command";
  // One of midwatch.config.json is checked when the workspace, and so that file, is found.
  const driver = DRIVERS.find((one) => one.name === name);
  if (driver !== undefined) checkStart(options, driver, place.cwd, place.env as NodeJS.ProcessEnv);
  if (wantsWorktree(options)) await findRepository(resolve(place.cwd, options.cwd ?? "."), place.env);
}
