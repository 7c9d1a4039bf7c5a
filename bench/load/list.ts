// `list.ts LIBRARY WORKSPACE EXPECTED`: lists the workspace until every agent is in the phase that the file EXPECTED says
// ("phase agent" a line), 10 s at most. Prints {tries, inside, first, right}; times in ms.
import { readFileSync } from "node:fs";

const [library = "", workspacePath = "", expectedPath = ""] = process.argv.slice(2);
const { openWorkspace } = (await import(library)) as typeof import("../../src/index.ts");
const expected = new Map(
  readFileSync(expectedPath, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" ").reverse() as [string, string]),
);
const begun = performance.now();
const workspace = openWorkspace({ workspace: workspacePath });
let first = 0;
let tries = 0;
let right = 0;
do {
  const listed = await workspace.runs.list();
  tries++;
  right = listed.filter((one) => {
    const phase = expected.get(one.agent);
    // A zero that was not seen would be a guess: the exit code is part of being right.
    return phase === one.phase && (phase === "running" || (one.exit.code === 0 && one.outcome === "completed"));
  }).length;
  first ||= performance.now() - begun;
} while (right !== expected.size && performance.now() - begun < 10_000);
console.log(JSON.stringify({ tries, first, inside: performance.now() - begun, right }));
workspace.close();
