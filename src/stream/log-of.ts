/** From an agent to the log that is meant, and whether that log is whole. */
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { follow, type Progress } from "../core/progress.ts";
import { readFacts } from "../facts/facts.ts";
import { locate } from "../facts/locate.ts";
import { type Verified, verify } from "../log/verify.ts";
import type { Context } from "../workspace/context.ts";
import { RunLog, type RunLogOf } from "./run-log.ts";

/** Which agent and run to read. */
export interface LogOf extends RunLogOf {
  /** The agent's newest run. */
  newest: number;
}

export function logOf(
  context: Context,
  id: AgentId,
  { run: asked, stderr = false }: { run?: number | undefined; stderr?: boolean | undefined },
): LogOf {
  const { agent, run } = locate(context, id).listed;
  const of = { task: agent.task, agent: agent.id, run: asked ?? run.run, newest: run.run };
  // The newest may be so new that its launcher has not written the intent yet: then its log is empty.
  const { intent, unreadable } = readFacts(context.layout.run(of.task, of.agent, of.run));
  if (of.run !== of.newest && intent === undefined && !unreadable)
    throw new MidwatchError("NOT_FOUND_RUN", `${of.agent} has no run ${of.run}.`, {
      hint: `midwatch show ${of.agent} lists its runs.`,
    });
  return { ...of, stderr, json: agent.driver !== "command" };
}

/** Of a run: its log, and its facts. */
export interface VerifiedRun extends Verified {
  /** Facts that cannot be used, each with the reason. */
  damaged: readonly string[];
}

export async function verifyLog(context: Context, of: LogOf, progress: Progress | undefined): Promise<VerifiedRun> {
  using opened = new RunLog(context, of);
  const { log, end } = opened.look();
  if (log === undefined)
    throw new MidwatchError("NOT_FOUND_FILE", `The log of ${of.agent} is gone.`, {
      hint: `midwatch show ${of.agent}`,
    });
  const found = await follow(verify(log, end), "checked", progress);
  const { damaged } = readFacts(context.layout.run(of.task, of.agent, of.run));
  return { ...found, ok: found.ok && damaged.length === 0, damaged };
}
