/** From what a person typed to one agent and its newest run. */
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, parseAgentId, quote, type TaskId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";
import type { RunPaths } from "../disk/layout.ts";
import type { Listed } from "../registry/registry.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { type Facts, readFacts } from "./facts.ts";

export interface Located {
  listed: Listed;
  paths: RunPaths;
  facts: Facts;
}

/** An id, a unique prefix of one, or (inside a run) nothing at all. */
export function resolveId(context: Context, text: string | undefined): AgentId {
  const own = context.caller === undefined ? context.env["MIDWATCH_AGENT"] : context.caller.agent;
  const given = text ?? own;
  if (given === undefined || given === "") {
    throw new MidwatchError("USAGE", "Which agent? No id was given.", {
      hint: "`midwatch ls` lists them; a unique beginning is enough.",
    });
  }
  const asked = parseAgentId(given);
  return withReader(context, (registry) => {
    if (registry.get(asked)) return asked;
    const found = registry.findByPrefix(asked);
    const [only] = found;
    if (only !== undefined && found.length === 1) return only;
    if (found.length > 1) {
      throw new MidwatchError(
        "AMBIGUOUS_ID",
        `${quote(asked)} could be ${found.slice(0, 3).join(", ")}${found.length > 3 ? " ..." : ""}.`,
        {
          hint: "Write more of the id.",
          data: { found },
        },
      );
    }
    throw new MidwatchError("NOT_FOUND_AGENT", `There is no agent ${quote(asked)} in ${context.layout.root}.`, {
      hint: "`midwatch ls --all` lists them.",
    });
  });
}

export function locate(context: Context, agent: AgentId): Located {
  const listed = withReader(context, (registry) => registry.get(agent));
  if (listed === undefined)
    throw new MidwatchError("NOT_FOUND_AGENT", `There is no agent ${quote(agent)}.`, {
      hint: "`midwatch ls --all` lists them.",
    });
  const paths = context.layout.run(listed.agent.task, agent, listed.run.run);
  return { listed, paths, facts: readFacts(paths) };
}

export function knownTask(context: Context, task: TaskId): TaskFact {
  const row = withReader(context, (registry) => registry.task(task));
  if (row !== undefined) return row.data as unknown as TaskFact;
  throw new MidwatchError("NOT_FOUND_TASK", `There is no task ${task}.`, { hint: "`midwatch tasks` lists them." });
}
