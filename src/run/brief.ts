/** The text that an agent gets: the caller's prompt with its task round it. Pure. */
import type { AgentId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";

export interface Brief {
  prompt: string;
  agent: AgentId;
  role: string | null;
  parent: AgentId | null;
  task: TaskFact;
  /** How midwatch is called from a shell. */
  midwatch: string;
  /** It has midwatch's tools too. */
  mcp: boolean;
}

const TEMPLATE = `{prompt}

---
You are the agent {agent}{role} in a fleet that midwatch runs. Nobody watches your terminal: what you print is recorded.
Task {task}: {description}
{priority}{deliverables}{constraints}{files}
Report what you do{tools}, so that others can see it:
  {midwatch} progress working "what you do now" --percent 40
  {midwatch} progress completed "what you have done"
  {midwatch} finding TYPE low|medium|high|critical "what others should know"
Report completed last: an agent that is silent after it is ended.
`;

/** `template` may hold the same placeholders; where it has no {prompt}, the prompt comes first. */
export function briefText(brief: Brief, template: string = TEMPLATE): string {
  const { task } = brief;
  const list = (title: string, items: readonly string[] | undefined): string =>
    items?.length ? `${title}:\n${items.map((item) => `- ${item}`).join("\n")}\n` : "";
  const values: Record<string, string> = {
    prompt: brief.prompt,
    agent: brief.agent,
    role: brief.role ? ` (${brief.role})` : "",
    parent: brief.parent ?? "",
    task: task.task,
    description: task.description,
    priority: task.priority ? `Priority: ${task.priority}\n` : "",
    deliverables: list("Expected", task.deliverables),
    constraints: list("Constraints", task.constraints),
    files: list("Files to read first", task.files),
    labels: (task.labels ?? []).join(", "),
    midwatch: brief.midwatch,
    tools: brief.mcp
      ? " with the tools update_agent_progress and report_agent_finding of the MCP server midwatch, or from your shell"
      : ", from your shell",
  };
  const whole = template.includes("{prompt}") ? template : `{prompt}\n\n${template}`;
  // One pass: what a prompt or a description contains is never taken for a placeholder.
  return whole.replace(/\{([a-z]+)\}/g, (text, name: string) => values[name] ?? text);
}
