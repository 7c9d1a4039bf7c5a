/** What packaging/ holds for places where nobody ran it: the checks of those places that can be had here, and every line that a shell would run. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { patient } from "../support/patience.ts";
import { findTool } from "../support/tools.ts";
import { machine, pack } from "./machine.ts";
import { startRegistry } from "./registry.ts";

const PACKAGING = join(import.meta.dirname, "../../packaging");
const read = (name: string): string => readFileSync(join(PACKAGING, name), "utf8");

const actionlint = findTool("actionlint");
it.skipIf(actionlint === undefined)(
  "actionlint finds nothing wrong with the workflow, and something in a broken one",
  async () => {
    const { createLinter } = (await import(actionlint as string)) as {
      createLinter(): Promise<(text: string, path: string) => { message: string }[]>;
    };
    const lint = await createLinter();
    const path = ".github/workflows/agent.yml";
    expect(lint(read("workflow.yml"), path)).toEqual([]);
    expect(lint(read("workflow.yml").replace("run: npm", "runs: npm"), path)).not.toEqual([]);
  },
);

const node = findTool("node-24");
const able = node !== undefined && findTool("zig") !== undefined;
it.skipIf(!able)(
  "each `run:` line of the workflow and of the action does what its step says",
  async () => {
    const packed = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-packed-")));
    onTestFinished(() => rmSync(packed, { recursive: true }));
    pack(packed, [`${process.platform}-${process.arch}`]);
    await using registry = await startRegistry(packed);
    for (const name of ["workflow.yml", "action/action.yml"]) {
      const text = read(name);
      const steps = [...text.matchAll(/^ +run: (.+)$/gm)].map(([, line = ""]) => line);
      expect(steps.length).toBe(text.split("run:").length - 1);
      expect(steps.join("\n")).not.toContain("$" + "{{"); // What is put into a line before a shell reads it is code.
      const here = machine(node as string, registry.url);
      const env = { ...here.env, PACKAGES: "midwatch", COMMAND: "echo the agent works here", LIMIT: "1m" };
      const said: string[] = [];
      for (const line of steps) {
        const { code, stdout, stderr } = await here.run("bash", ["-e", "-c", line], { env });
        expect(code, `${line}\n${stderr}`).toBe(0);
        said.push(stdout);
      }
      expect(said.at(-2)).toBe("the agent works here\n");
      expect(said.at(-1)).toMatch(/already|stopped|0 left/);
    }
  },
  patient(300_000),
);
