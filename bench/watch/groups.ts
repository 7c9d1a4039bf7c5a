/** Which runs stand for what. A folder need not have every set: what is missing is left out of the tables. */
import type { Run } from "./runs.ts";

export interface Groups {
  stuck: Run[];
  submitted: Run[];
  healthy: Run[];
  unresolved: Run[];
  loops: Run[];
  otherSola: Run[];
  others: Record<string, Run[]>;
}

/** So many steps that people called repetitions make a loop. */
const LOOP = 3;

export function groupsOf(all: readonly Run[]): Groups {
  const runs = all.filter(({ steps }) => steps.length > 0);
  const set = (name: string): Run[] => runs.filter(({ ds }) => ds === name);
  const java = set("multi_swe_java");
  const modern = set("swebv_gemini3_mini");
  const sola = set("sola").filter(({ labels }) => labels["action_action"] !== undefined);
  const others = ["tb_mini_sonnet4", "cc_atif", "tau_airline", "trail"].map((name) => [name, set(name)] as const);
  return {
    stuck: java.filter(({ exit }) => /exit_cost/.test(exit ?? "")),
    submitted: java.filter(({ exit }) => exit === "submitted"),
    healthy: modern.filter(({ success }) => success === true),
    unresolved: modern.filter(({ success }) => success !== true),
    loops: sola.filter((run) => repetitions(run) >= LOOP),
    otherSola: sola.filter((run) => repetitions(run) < LOOP),
    others: Object.fromEntries(others.filter(([, list]) => list.length > 0)),
  };
}

function repetitions({ labels }: Run): number {
  const relations = labels["action_action"];
  return Array.isArray(relations) ? relations.filter((relation) => relation === "Repetition").length : 0;
}
