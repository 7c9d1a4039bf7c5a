/**
 * The next run of an agent: the former run's files move to archive/, then the same intent is launched under a new number. With
 * `resume` the CLI goes on with its own session.
 */
import { existsSync } from "node:fs";
import { heldBack, spenderFor } from "../budget/budgets.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, newNonce } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { isOver } from "../core/phase.ts";
import { iso, monoMs } from "../core/time.ts";
import type { Message } from "../core/types.ts";
import { preflight } from "../disk/free-space.ts";
import { linkMove } from "../disk/inside.ts";
import { assertWritable } from "../disk/workspace.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { knownTask, locate } from "../facts/locate.ts";
import { phaseNow } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import { hasFact } from "../facts/run-numbers.ts";
import { witnessed } from "../facts/witness.ts";
import { lockRun } from "../files/cleanup.ts";
import { boundEarlierRuns } from "../files/earlier-runs.ts";
import { resumePrompt, waitingMessages } from "../messages/inbox.ts";
import { host } from "../process/identity.ts";
import { isCompanion } from "../workspace/companion.ts";
import { type Context, catchUp, type RunName } from "../workspace/context.ts";
import { assertFolder } from "../workspace/find-command.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { compose } from "./compose.ts";
import { type Launched, launch } from "./launch.ts";

export interface RestartOptions {
  /** Go on with the session of the CLI; a text is what it is told. */
  resume?: boolean | string | undefined;
}

const GO_ON = "You were interrupted. Go on where you stopped.";

export async function restart(context: Context, agent: AgentId, options: RestartOptions = {}): Promise<Launched> {
  const { config, layout } = context;
  if (isCompanion(context, agent))
    throw new MidwatchError("REFUSED_ALIVE", `${agent} is the companion of this workspace; midwatch starts it.`, {
      hint: "It comes by itself while a run needs it (docs/companion.md).",
    });
  const { listed, facts: claimed } = locate(context, agent);
  const name = { task: listed.agent.task, agent, run: listed.run.run };
  const { facts } = await witnessed(context, name, claimed, listed.run.nonce);
  const former = facts.intent;
  const phase = phaseNow(facts);
  // Without an intent it is being started just now.
  if (!former || !isOver({ phase })) {
    throw new MidwatchError("REFUSED_ALIVE", `${agent} is ${phase}; only an agent that has ended can be restarted.`, {
      hint: `midwatch stop ${agent}`,
    });
  }
  if (former.worktree && !existsSync(layout.worktree(agent)))
    throw new MidwatchError("NOT_FOUND_WORKTREE", `The worktree of ${agent} was removed; it cannot work there again.`, {
      hint: "Start a new agent: midwatch run --worktree ...",
    });
  assertFolder(former.cwd);
  assertWritable(layout.root);
  preflight(layout.root, config);
  let run = listed.run.run + 1;
  // A number that was given up before it had an intent is not used again: its claim stands. One with an intent was faster than we are.
  for (; hasFact(layout.run(former.task, agent, run), "claim"); run++)
    if (hasFact(layout.run(former.task, agent, run), "intent")) throw restarted(agent);
  const resumes = options.resume !== undefined && options.resume !== false;
  const waiting = resumes ? await waitingMessages(context, agent, listed.run.run) : [];
  const wake = heldBack(context, spenderFor(context, agent, run, former.labels));
  const asked: IntentFact = {
    ...former,
    ...session(agent, facts, options, waiting),
    ...host(),
    run,
    nonce: newNonce(),
    created_at: iso(),
    created_mono_ms: monoMs(),
    queued: wake !== undefined,
  };
  const composed = await compose(
    context,
    await findDriver(context, former.driver),
    asked,
    knownTask(context, former.task),
  );
  const prepare = (): void => setAside(context, former);
  try {
    // Whoever cleans the former run up has finished, or finds that the files at the agent's names are no longer its own.
    const launched = await lockRun(context, former, () => launch(context, { ...composed, prepare }));
    await boundEarlierRuns(context, asked);
    return { ...launched, wake };
  } catch (error) {
    if (!(error instanceof MidwatchError && error.code === "DUPLICATE_ID")) throw error;
    throw restarted(agent);
  }
}

/** What a run has left at the agent's names goes to its own, before the next run takes them. */
export function setAside(context: Context, { task, agent, run }: RunName): void {
  const { layout } = context;
  const files = layout.agent(task, agent);
  const paths = layout.run(task, agent, run);
  for (const [from, to] of [
    [files.log, paths.archivedLog],
    [files.stderr, paths.archivedStderr],
    [files.index, paths.archivedIndex],
  ] as const) {
    if (linkMove(layout.root, from, to) === "exists") {
      throw new MidwatchError("REFUSED_FILE", `${to} exists already and is never overwritten.`, {
        hint: "Move it away, then restart.",
      });
    }
  }
  catchUp(context, (registry) => registry.putRun(runRow(layout, task, agent, run, readFacts(paths), false)));
}

function restarted(agent: AgentId): MidwatchError {
  return new MidwatchError("REFUSED_ALIVE", `${agent} is being restarted by another process.`, {
    hint: `midwatch show ${agent}`,
  });
}

function session(
  agent: AgentId,
  { intent, cleanup }: Facts,
  { resume }: RestartOptions,
  waiting: readonly Message[],
): Pick<IntentFact, "resume" | "session" | "prompt" | "messages"> {
  const prompt = intent?.prompt ?? null;
  if (resume === undefined || resume === false) return { resume: false, session: null, prompt, messages: [] };
  const known = cleanup?.result?.session ?? intent?.session ?? null;
  if (known === null) {
    throw new MidwatchError("USAGE", `${agent} has no session of its CLI that could go on.`, {
      hint: `midwatch restart ${agent}, without --resume, begins anew.`,
    });
  }
  const told = resumePrompt(resume === true ? null : resume, waiting) ?? GO_ON;
  return { resume: true, session: known, prompt: told, messages: waiting.map(({ id }) => id) };
}
