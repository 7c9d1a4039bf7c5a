/** Archives: asked for by a person, or due by age; and back. What is done to the files is in pack.ts, the account of it in cleanup.ts. */
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { Progress } from "../core/progress.ts";
import { iso } from "../core/time.ts";
import type { FileReport } from "../core/types.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import { writeView } from "../facts/view.ts";
import { type Context, catchUp, type RunName, withReader } from "../workspace/context.ts";
import { cleanUp, restoreLogs } from "./cleanup.ts";
import { isArchivable, isLog } from "./cleanup-plan.ts";

/** What became of the files of a run that was packed or unpacked. */
export interface Archived {
  agent: AgentId;
  run: number;
  files: FileReport[];
  /** Of the log: packed by unpacked; null when there was nothing to pack. */
  ratio: number | null;
}

/** Others get their turn after this many. */
const AT_ONCE = 20;

export async function archive(context: Context, agent: AgentId, run?: number, progress?: Progress): Promise<Archived> {
  const { name, facts, newest } = endedRun(context, agent, run);
  let ratio: number | null = null;
  const fact = await cleanUp(context, name, facts, {
    archive: true,
    progress,
    packed: (of) => {
      ratio = of;
    },
  });
  remember(context, name, newest);
  return { agent, run: name.run, files: fact.files.filter(({ path }) => isLog(path)), ratio };
}

export async function restore(context: Context, agent: AgentId, run?: number, progress?: Progress): Promise<Archived> {
  const { name, newest } = endedRun(context, agent, run);
  const files = await restoreLogs(context, name, progress);
  remember(context, name, newest);
  return { agent, run: name.run, files, ratio: null };
}

/** Archives logs that have been plain for longer than `archive_after`, oldest first; returns of how many runs. */
export async function archiveAged(context: Context): Promise<number> {
  const before = iso(Date.now() - context.config.archive_after);
  let done = 0;
  for (const due of withReader(context, (registry) => registry.archiveDue(before, AT_ONCE))) {
    const { task, agent, run, newest } = due;
    const name = { task, agent, run };
    const facts = readFacts(context.layout.run(task, agent, run));
    const fact = isArchivable(facts) ? await cleanUp(context, name, facts, { archive: true }) : undefined;
    if (facts.intent) remember(context, name, newest);
    if (fact?.files.some(({ action }) => action === "archived")) done++;
  }
  return done;
}

function endedRun(
  context: Context,
  agent: AgentId,
  asked: number | undefined,
): { name: RunName; facts: Facts; newest: boolean } {
  const { listed } = locate(context, agent);
  const run = asked ?? listed.run.run;
  const facts = readFacts(context.layout.run(listed.agent.task, agent, run));
  if (!facts.intent)
    throw new MidwatchError("NOT_FOUND_RUN", `${agent} has no run ${run}.`, { hint: `midwatch show ${agent}` });
  if (!hasEnded(facts)) {
    throw new MidwatchError("REFUSED_ALIVE", `Run ${run} of ${agent} has not ended; its log is still being written.`, {
      hint: `midwatch wait ${agent}, or midwatch stop ${agent}`,
    });
  }
  return { name: { task: listed.agent.task, agent, run }, facts, newest: run === listed.run.run };
}

/** The run's phase follows from its cleanup fact. */
export function remember(context: Context, { task, agent, run }: RunName, newest: boolean): void {
  const row = runRow(context.layout, task, agent, run, readFacts(context.layout.run(task, agent, run)), newest);
  catchUp(context, (registry) => registry.putRun(row));
  writeView(context, task);
  context.onStep?.("remembered");
}
