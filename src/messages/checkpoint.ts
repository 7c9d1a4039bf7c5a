import type { AgentId } from "../core/ids.ts";
import { checkpointFile } from "../journal/checkpoint.ts";
import { assertSelf } from "../workspace/caller.ts";
import type { Context } from "../workspace/context.ts";

/** How far an agent has come with the events of the journal. */
export interface CheckpointRecord {
  agent: AgentId;
  /** The last interaction that was handled. */
  interaction: number | null;
  file: string;
}

/** Any name may have one: agents of plain shells are not in the registry. */
export function checkpoint(context: Context, agent: AgentId, interaction?: number): CheckpointRecord {
  const file = checkpointFile(context.layout, agent);
  if (interaction !== undefined) {
    assertSelf(context, agent, "set the checkpoint of");
    file.write({ interaction, place: undefined });
  }
  return { agent, interaction: file.read()?.interaction ?? null, file: context.layout.checkpoint(agent) };
}
