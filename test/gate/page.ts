/** docs/requirements.md: each demand, the tests that prove it, and what the last whole run made of them. */
import type { Requirement } from "../requirements.ts";
import type { Citation } from "./citations.ts";
import type { Verdict } from "./judge.ts";

const HEAD = `# Requirements

Each demand in the words of the one who asked, the files whose tests prove it (a test says so by beginning its title with the id), and what the
last whole run made of them. *Own way* is where midwatch does it otherwise, with the reason in [seeds.md](seeds.md).

\`npm test\` fails when a test that is cited here failed, was skipped, was tried twice or did not run. A test that needs what the machine
lacks (the rights of root, cgroups, a program) is excused: its demand is *unproven*, and the end of the run lists it with the reason. With
\`CI=true\` and root nothing is excused. \`npm run docs\` writes this page.

| id | demand | proven by | last whole run |
|---|---|---|---|
`;

/** results: by id; an id without one has not been in a whole run. */
export function page(
  requirements: Record<string, Requirement>,
  cited: readonly Citation[],
  results: ReadonlyMap<string, string>,
): string {
  const rows = Object.entries(requirements).map(([id, requirement]) => {
    const files = [...new Set(cited.filter(({ ids }) => ids.includes(id)).map(({ file }) => `\`${file}\``))];
    return [id, demand(requirement), files.join("<br>") || "–", results.get(id) ?? "not yet run"];
  });
  return `${HEAD}${rows.map((row) => `| ${row.map(cell).join(" | ")} |\n`).join("")}`;
}

function demand({ text, accept, own, later, notApplicable }: Requirement): string {
  const more = { "Asked-for test": accept, "Own way": own, "Waits for": later, "Does not apply": notApplicable };
  const said = Object.entries(more).flatMap(([name, words]) => (words ? [`*${name}:* ${words}`] : []));
  return [text, ...said].join("<br>");
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/<(?!br>)/g, "&lt;");

export const resultsOf = (verdicts: ReadonlyMap<string, Verdict>): Map<string, string> =>
  new Map([...verdicts].map(([id, { result }]) => [id, result]));

/** The results that a page tells. */
export const resultsIn = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/^\| (R-\d+\.\d+) \|.* \| ([^|]+) \|$/gm)].map(([, id = "", result = ""]) => [id, result]));
