import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { newAgentId, parseAgentId, parseTaskId } from "../core/ids.ts";
import { layout, parseActiveMark } from "./layout.ts";

const paths = layout("/w/.agent-workspace");
const task = parseTaskId("TASK-20261115-190405-1a2b3c4d");
const agent = parseAgentId("dev-190405-1a2b3c");

describe("layout", () => {
  it("R-000.39: puts the log where the formats say", () => {
    expect(paths.agent(task, agent).log).toBe(`/w/.agent-workspace/${task}/logs/${agent}_stream.jsonl`);
    expect(paths.run(task, agent, 2).done).toBe(`/w/.agent-workspace/${task}/runs/${agent}/2/done.json`);
    expect(paths.run(task, agent, 2).archivedLog).toBe(`/w/.agent-workspace/${task}/archive/${agent}_stream.2.jsonl`);
  });

  it("R-000.8, R-000.10: two agents share no path", () => {
    const other = newAgentId("dev");
    const all = [agent, other].flatMap((id) => [
      ...Object.values(paths.agent(task, id)),
      ...Object.values(paths.run(task, id, 1)),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });

  it("knows every fact of docs/formats.md", () => {
    const text = readFileSync(new URL("../../docs/formats.md", import.meta.url), "utf8");
    const section = text.slice(text.indexOf("## Facts of a run"), text.indexOf("A `claim` by a launcher"));
    const documented = [...section.matchAll(/^\| `([a-z.]+)` \|/gm)].map((match) => match[1]);
    const run = paths.run(task, agent, 1);
    const known = Object.values(run).filter((path) => typeof path === "string" && path.startsWith(`${run.dir}/`));
    expect(known.map((path) => path.slice(run.dir.length + 1)).sort()).toEqual(documented.sort());
  });

  it("reads the names in active/", () => {
    expect(paths.activeMark(agent, 3)).toBe(`/w/.agent-workspace/active/${agent}.3`);
    expect(parseActiveMark(`${agent}.3`)).toEqual({ agent, run: 3 });
    for (const bad of ["x", "x.0", "x.y", "../x.1", "a.b.1", "x.1.tmp", ".x.1"])
      expect(parseActiveMark(bad)).toBeUndefined();
  });
});
