/** The gate of a whole run: what vitest has run against what must hold. */
import type { TestCase, TestModule, TestSuite } from "vitest/node";
import { type Requirement, requirements } from "../requirements.ts";
import { citations, citedPart, idsOf, ROOT } from "./citations.ts";
import { judge, type Ran, type Verdict } from "./judge.ts";
import { keepLastRun } from "./last-run.ts";

/** A tree whose tests cite what must hold. */
export interface Gated {
  root: string;
  requirements: Record<string, Requirement>;
}

export const midwatch: Gated = { root: ROOT, requirements };

/** Judges, keeps the verdicts for docs/requirements.md, and returns those that are to be told. */
export function gate(
  { root, requirements }: Gated,
  modules: readonly TestModule[],
  reasonsOf: (module: TestModule) => string[],
): Map<string, Verdict> {
  const verdicts = judge(requirements, citations(root), ranIn(modules, reasonsOf), isStrict());
  keepLastRun(root, verdicts);
  return new Map([...verdicts].filter(([, { result }]) => result === "failed" || result === "unproven"));
}

/** Where root runs it to decide on a change, everything can be had. */
const isStrict = (): boolean => process.env["CI"] === "true" && process.getuid?.() === 0;

export const told = (
  { requirements }: Gated,
  verdicts: ReadonlyMap<string, Verdict>,
  result: Verdict["result"],
): string[] =>
  [...verdicts].flatMap(([id, one]) =>
    one.result === result ? [`  ${id} ${requirements[id]?.text}`, ...one.why.map((line) => `    ${line}`)] : [],
  );

function ranIn(modules: readonly TestModule[], reasonsOf: (module: TestModule) => string[]): Ran[] {
  return modules.flatMap((module) => {
    const file = module.relativeModuleId;
    const of = (test: TestCase): Ran[] => {
      const state = stateOf(test);
      const reasons = state === "skipped" ? reasonsOf(module) : [];
      const titles = namesOf(test)
        .map(citedPart)
        .filter((name) => idsOf(name).length > 0);
      return titles.map((title) => ({ file, ids: idsOf(title), title, state, reasons }));
    };
    return [...module.children.allTests()].flatMap(of);
  });
}

/** Its own name, and those of the groups that it is in. */
function namesOf(test: TestCase): string[] {
  const names = [test.name];
  for (let at: TestCase | TestSuite = test; at.parent.type === "suite"; at = at.parent) names.push(at.parent.name);
  return names;
}

function stateOf(test: TestCase): Ran["state"] {
  const { state } = test.result();
  if (state === "passed" && (test.diagnostic()?.retryCount ?? 0) > 0) return "retried";
  return state === "passed" || state === "skipped" ? state : "failed";
}
