/** From an agent to the log that is meant, and whether that log is whole. */
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { follow, type Progress } from "../core/progress.ts";
import { locate } from "../facts/locate.ts";
import { type Verified, verify } from "../log/verify.ts";
import type { Context } from "../workspace/context.ts";
import { assertRun, type LogOf, type LogOptions, lookAt } from "./read.ts";

export function logOf(context: Context, id: AgentId, { run, stderr }: LogOptions): LogOf {
  const { agent, run: newest } = locate(context, id).listed;
  const of: LogOf = {
    task: agent.task,
    agent: agent.id,
    run: run ?? newest.run,
    newest: newest.run,
    stderr: stderr ?? false,
    json: agent.driver !== "command",
  };
  assertRun(context, of);
  return of;
}

export async function verifyLog(context: Context, of: LogOf, progress: Progress | undefined): Promise<Verified> {
  const { log, live } = lookAt(context, of, of.run);
  if (log === undefined)
    throw new MidwatchError("NOT_FOUND_FILE", `The log of ${of.agent} is gone.`, {
      hint: `midwatch show ${of.agent}`,
    });
  try {
    return await follow(verify(log, log.end(live)), "checked", progress);
  } finally {
    log.close();
  }
}
