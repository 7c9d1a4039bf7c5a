// `npm run branches`: how many branches of the pure plans and of state.ts their tests take; below 90 % of a file it fails. Node counts,
// this reads the counts: vitest, which it starts, loads it again as its coverage provider. The modules are loaded by Node, not by Vite, so
// that a place in what ran is the place in the source.
import { globSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseAst } from "rolldown/parseAst";

const LEAST = 0.9;
const root = fileURLToPath(new URL("..", import.meta.url));
const MEASURED = [...globSync("src/*/*-plan.ts", { cwd: root }), "src/facts/state.ts"].sort();

const session = new Session();
/** By file: the functions with their counts, of one test file after the other. */
const taken = new Map(MEASURED.map((path) => [path, []]));

export default {
  async startCoverage() {
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  },
  async takeCoverage() {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const found = result.map(({ url, functions }) => [url.replace(pathToFileURL(root).href, ""), functions]);
    return found.filter(([path]) => taken.has(path));
  },
  stopCoverage: () => session.disconnect(),
  getProvider: () => ({
    name: "branches",
    initialize() {},
    resolveOptions: () => ({
      enabled: true,
      provider: "custom",
      reporter: [],
      reportsDirectory: "coverage",
      exclude: [],
    }),
    clean() {},
    onAfterSuiteRun({ coverage }) {
      for (const [path, functions] of coverage) taken.get(path).push(functions);
    },
    generateCoverage: () => null,
    reportCoverage,
  }),
};

const self = fileURLToPath(import.meta.url);
if (process.argv[1] === self) {
  const coverage = { enabled: true, provider: "custom", customProviderModule: self };
  const options = { run: true, project: "unit", experimental: { viteModuleRunner: false }, coverage };
  // Not awaited: vitest waits for this module.
  import("vitest/node")
    .then(({ startVitest }) => startVitest("test", ["-plan.test", "facts/state.test"], options))
    .then((vitest) => vitest.close());
}

function reportCoverage() {
  console.log("branches taken:");
  for (const [path, runs] of taken) {
    const text = readFileSync(join(root, path), "utf8");
    const branches = branchesOf(parseAst(text, { lang: "ts" }));
    const missed = branches.filter((branch) => !runs.some((functions) => isTaken(functions, branch)));
    const part = 1 - missed.length / branches.length;
    const figures = `${branches.length - missed.length} of ${branches.length}`;
    console.log(`  ${(100 * part).toFixed(1).padStart(5)} %  ${figures.padEnd(11)}${path}`);
    for (const { at, what } of missed) console.log(`           line ${text.slice(0, at).split("\n").length}: ${what}`);
    if (part < LEAST) process.exitCode = 1;
  }
}

/** Each way that an `if`, `?:`, `&&`, `||`, `??` or `switch` can go; one without code of its own was gone when the other was not. */
function branchesOf(tree) {
  const branches = [];
  const go = (at, what) => branches.push({ at: at.start, what });
  const past = (whole, other, what) => branches.push({ at: whole.start, other: other.start, what: `${what} not` });
  const walk = (node) => {
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node)) return node.forEach(walk);
    const { type } = node;
    if (type === "IfStatement") {
      go(node.consequent, "if");
      if (node.alternate) go(node.alternate, "else");
      else past(node, node.consequent, "if");
    } else if (type === "ConditionalExpression") {
      go(node.consequent, "? ...");
      go(node.alternate, ": ...");
    } else if (type === "LogicalExpression") {
      go(node.right, node.operator);
      past(node, node.right, node.operator);
    } else if (type === "SwitchStatement") for (const one of node.cases) go(one, "case");
    for (const [key, value] of Object.entries(node)) if (key !== "parent") walk(value);
  };
  walk(tree.body);
  return branches;
}

function isTaken(functions, { at, other }) {
  return countAt(functions, at) > (other === undefined ? 0 : countAt(functions, other));
}

/** Of the smallest range round the place. */
function countAt(functions, at) {
  const round = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset);
  round.sort((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
  return round[0]?.count ?? 0;
}
