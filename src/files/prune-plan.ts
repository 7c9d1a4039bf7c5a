/** Which ended agents go to the trash, and why. Pure. */
import { formatDuration } from "../core/duration.ts";
import type { AgentId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";
import { formatSize } from "../core/size.ts";
import type { Survey, SurveyedAgent } from "./survey.ts";

/** Why the one that ended first goes; undefined when it stays, and with it all that ended later. */
export function whyGone(ageMs: number, bytes: number, olderMs: number, overBytes: number): string | undefined {
  if (ageMs >= olderMs) return olderMs === 0 ? "ended" : `ended more than ${formatDuration(olderMs)} ago`;
  return bytes > overBytes ? `the workspace is above ${formatSize(overBytes)}` : undefined;
}

/** One thing that goes: an agent, or a task with all its agents. */
export interface Choice {
  task: TaskFact;
  agent: AgentId | null;
  agents: SurveyedAgent[];
  why: string;
  bytes: number;
  paths: string[];
}

/** `going` are the agents that go, with the reason; a task goes as a whole when nothing else is in it. */
export function choicesOf(
  { fact, names, bytes }: Survey["tasks"][number],
  agents: readonly SurveyedAgent[],
  going: ReadonlyMap<AgentId, string>,
  before: number,
): Choice[] {
  const own = agents.filter(({ task, agent }) => task === fact.task && going.has(agent));
  const whole = names.every((name) => own.some(({ agent }) => agent === name));
  if (whole && (own.length > 0 || Date.parse(fact.created_at) <= before)) {
    const why = going.get(own.at(-1)?.agent as AgentId) ?? "a task without agents";
    return [{ task: fact, agent: null, agents: own, why, bytes, paths: [fact.task] }];
  }
  return own.map((one) => ({
    task: fact,
    agent: one.agent,
    agents: [one],
    why: going.get(one.agent) ?? "",
    bytes: one.bytes,
    paths: one.paths,
  }));
}
