import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { type Citation, citationsIn, isOf, ROOT } from "./citations.ts";
import { isOfTheMachine, judge, type Ran } from "./judge.ts";
import { page, resultsIn, resultsOf } from "./page.ts";

const demands = { "R-9.1": { text: "one | two" }, "R-9.2": { text: "two", later: "x" } };
const cited: Citation[] = [
  { file: "a.test.ts", ids: ["R-9.1"], title: "R-9.1: of %s" },
  { file: "b.test.ts", ids: ["R-9.1"], title: "R-9.1: always" },
];
const passed: Ran = { file: "b.test.ts", ids: ["R-9.1"], title: "R-9.1: always", state: "passed" };
const each = (state: Ran["state"], ...reasons: string[]): Ran[] => [
  passed,
  { file: "a.test.ts", ids: ["R-9.1"], title: "R-9.1: of two", state, reasons },
];
const resultOf = (ran: Ran[], strict = false) => judge(demands, cited, ran, strict).get("R-9.1")?.result;

it("a citation is an id at the beginning of a title", () => {
  const source = `it("R-9.1, R-9.22: both", f); it.each(x)('R-9.3: e\\'ach', f); // R-9.4\nit("not R-9.5", f); it(\n\`R-9.6: \${x}\`)`;
  expect(citationsIn("f", source).map(({ ids, title }) => [ids.join(), title])).toEqual([
    ["R-9.1,R-9.22", "R-9.1, R-9.22: both"],
    ["R-9.3", "R-9.3: e\\'ach"],
    ["R-9.6", "R-9.6: \u0024{x}"],
  ]);
});

it.each([
  ["R-9.1: a (b) %s?", "R-9.1: a (b) c\nd?", true],
  ["R-9.1: $name.x of \u0024{n}", "R-9.1: y of 3", true],
  ["R-9.3: e\\'ach", "R-9.3: e'ach", true],
  ["R-9.1: a", "R-9.1: ab", false],
])("%j is %j: %s", (title, name, expected) => expect(isOf(title, name)).toBe(expected));

it.each([
  ["all passed", each("passed"), false, "proven"],
  ["all passed, in CI", each("passed"), true, "proven"],
  ["one failed", each("failed"), false, "failed"],
  ["one passed at its second try", each("retried"), false, "failed"],
  ["one was skipped without a reason", each("skipped"), false, "failed"],
  ["one was skipped for a reason of its own", each("skipped", "not today"), false, "failed"],
  ["one was skipped for two reasons", each("skipped", "that needs root", "not today"), false, "failed"],
  ["one needs what this machine lacks", each("skipped", "that needs root"), false, "unproven"],
  ["one needs what CI has to have", each("skipped", "that needs root"), true, "failed"],
  ["a cited test did not run", [passed], false, "failed"],
  ["another of the same id ran in its place", [passed, { ...passed, file: "a.test.ts" }], false, "failed"],
] as const)("%s", (_, ran, strict, expected) => expect(resultOf([...ran], strict)).toBe(expected));

it("what no test cites fails, what is put off does not", () => {
  const verdicts = judge({ ...demands, "R-9.3": { text: "three" } }, cited, each("passed"), false);
  expect([...resultsOf(verdicts)]).toEqual([
    ["R-9.1", "proven"],
    ["R-9.2", "later"],
    ["R-9.3", "failed"],
  ]);
});

it("the page tells what it was told, and can be read back", () => {
  const results = resultsOf(judge(demands, cited, each("passed"), false));
  const text = page(demands, cited, results);
  expect(text).toContain("| R-9.1 | one \\| two | `a.test.ts`<br>`b.test.ts` | proven |\n");
  expect(resultsIn(text)).toEqual(results);
});

it("each reason that a test prints is of the machine, and no test is switched off", () => {
  const sources = globSync(["src/**/*.test.ts", "test/**/*.ts", "web/src/**/*.test.ts"]).filter(
    (path) => !/^test\/(gate|requirements|support\/skips)/.test(path),
  );
  const text = new Map(sources.map((path) => [path, readFileSync(path, "utf8")]));
  const reasons = [...text].flatMap(([path, source]) =>
    [...source.matchAll(/SKIPPED: ([^"`]*)/g)].map(([, reason = ""]) => [path, reason] as const),
  );
  expect(reasons.length).toBeGreaterThan(20);
  expect(reasons.filter(([, reason]) => !isOfTheMachine(reason) && !/\$\{\w+\}$/.test(reason))).toEqual([]);
  const off = /\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo|only|fails)\b/;
  expect([...text].filter(([, source]) => off.test(source)).map(([path]) => path)).toEqual([]);
});

describe("a whole run of vitest", () => {
  const LINE = `it("R-9.1: first", () => {}); `;
  const cases: [name: string, tests: string, env: NodeJS.ProcessEnv, code: number, told: RegExp | undefined][] = [
    ["all pass", LINE, {}, 0, undefined],
    [
      "a cited one is switched off",
      `${LINE}it.skip("R-9.1: second", () => {});`,
      {},
      1,
      /R-9\.1 one[\s\S]*skipped: R-9\.1: second/,
    ],
    [
      "a cited one passes at its second try",
      `${LINE}let n = 0; it("R-9.1: again", { retry: 1 }, () => { if (n++ === 0) throw new Error("first"); });`,
      {},
      1,
      /retried: R-9\.1: again/,
    ],
    [
      "a cited one is never made",
      `${LINE}if (process.pid < 0) it("R-9.1: absent", () => {});`,
      {},
      1,
      /did not run: R-9\.1: absent/,
    ],
    ["a row of a table cites it", 'it.each([["R-9.1: first"]])("the next step: %s", () => {});', {}, 0, undefined],
    ["nothing cites it", `it("first", () => {});`, {}, 1, /R-9\.1 one[\s\S]*no test cites it/],
    [
      "one needs more rights",
      `${LINE}console.warn("SKIPPED: that needs root."); it.skip("R-9.1: second", () => {});`,
      {},
      0,
      /UNPROVEN[\s\S]*skipped \(that needs root\.\)/,
    ],
    ["a single file", `${LINE}it.skip("R-9.1: second", () => {});`, { TEST_WHOLE: "" }, 0, undefined],
  ];
  const isRoot = process.getuid?.() === 0;
  const strict = [
    "one needs more rights, in CI",
    cases[6]?.[1] ?? "",
    { CI: "true" },
    isRoot ? 1 : 0,
    /skipped \(that needs root\.\)/,
  ] as const;

  it.each([...cases, strict])("%s", (_, tests, env, code, told) => {
    const { status, stdout, stderr } = run(tests, env);
    expect(status, stderr).toBe(code);
    if (told === undefined) expect(stdout).not.toContain("R-9.1 one");
    else expect(stdout).toMatch(told);
  });

  function run(tests: string, env: NodeJS.ProcessEnv): SpawnSyncReturns<string> {
    const root = folder();
    mkdirSync(join(root, "node_modules"));
    symlinkSync(join(ROOT, "node_modules", "vitest"), join(root, "node_modules", "vitest"));
    mkdirSync(join(root, "test"));
    writeFileSync(join(root, "test", "a.test.ts"), `import { it } from "vitest";\n${tests}`);
    writeFileSync(
      join(root, "vitest.config.ts"),
      `import { Skips } from ${JSON.stringify(join(ROOT, "test/support/skips.ts"))};
       const gated = { root: ${JSON.stringify(root)}, requirements: { "R-9.1": { text: "one" } } };
       export default { test: { reporters: [new Skips(gated)] } };`,
    );
    const { CI, TEST_RESULT, ...rest } = process.env;
    const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
    return spawnSync(process.execPath, [vitest, "run", "--root", root], {
      cwd: root,
      env: { ...rest, TEST_WHOLE: "1", ...env },
      encoding: "utf8",
      timeout: patient(60_000),
    });
  }
});
