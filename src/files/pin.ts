/** A pinned agent stays: no prune takes it to the trash, asked or not. The mark is a file of its own, and goes and comes with the agent. */
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { removeFile } from "../disk/inside.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { locate } from "../facts/locate.ts";
import { lstat } from "../facts/tracked.ts";
import type { Context, RunName } from "../workspace/context.ts";

/** Whether an agent is kept from retention. */
export interface PinRecord {
  agent: AgentId;
  pinned: boolean;
}

export function isPinned({ layout }: Context, { task, agent }: Pick<RunName, "task" | "agent">): boolean {
  return lstat(layout.agent(task, agent).pinned) !== undefined;
}

export function pin(context: Context, agent: AgentId, pinned: boolean): PinRecord {
  const { layout } = context;
  const path = layout.agent(locate(context, agent).listed.agent.task, agent).pinned;
  if (pinned) replaceInside(layout.root, path, `${JSON.stringify({ v: 1, at: iso() })}\n`);
  else removeFile(layout.root, path);
  return { agent, pinned };
}
