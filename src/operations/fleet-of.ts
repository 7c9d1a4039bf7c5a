/** The fleet of a call: the hub that the workspace or the environment names. Only people ask other hosts; agents ask their own. */
import { dirname } from "node:path";
import { loadConfig } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { type FleetLink, openFleet, type Workspace } from "../fleet/workspace.ts";
import { type Context, workspaceOf } from "./operation.ts";

export async function fleetOf(context: Context): Promise<FleetLink> {
  const workspace = ownWorkspace(context);
  const agent = workspace === undefined ? context.env["MIDWATCH_AGENT"] : workspace.caller().agent;
  if (agent !== undefined)
    throw new MidwatchError("REFUSED_RIGHT", "An agent may not ask other hosts of the fleet.", {
      hint: "Send a message to a person, or to an agent of your task: `midwatch send`.",
    });
  const config = workspace?.config ?? loadConfig({ env: context.env });
  const folder = workspace === undefined ? context.cwd : dirname(workspace.root);
  const notice = (text: string): void => context.notice(text);
  const link = await openFleet(config, folder, { workspace, env: context.env as NodeJS.ProcessEnv, notice });
  const { nats_keep: ageMs, nats_keep_bytes: bytes } = config;
  const usual = loadConfig();
  const isUsual = ageMs === usual.nats_keep && bytes === usual.nats_keep_bytes;
  const told = await link.bound({ ageMs, bytes }, isUsual);
  if (told !== undefined) context.notice(told);
  return link;
}

function ownWorkspace(context: Context): Workspace | undefined {
  try {
    return workspaceOf(context);
  } catch (error) {
    if (error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE") return undefined;
    throw error;
  }
}
