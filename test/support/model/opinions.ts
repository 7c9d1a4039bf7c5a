/** A watch that asks a model, to be driven round by round; and a stand-in for Claude Code that prints what it is told. */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../../src/core/config/config.ts";
import { layout } from "../../../src/disk/layout.ts";
import { rebuildFrom } from "../../../src/facts/folders.ts";
import type { AgentSummary, RunRecord } from "../../../src/fleet/workspace.ts";
import { EmbeddedEngine } from "../../../src/journal/embedded-engine.ts";
import { Ledger } from "../../../src/spend/ledger.ts";
import { LISTED } from "../../../src/spend/prices.ts";
import type { OpinionState } from "../../../src/watch/opinion/opinion-state.ts";
import { SecondOpinions } from "../../../src/watch/opinion/second-opinions.ts";
import { Watch } from "../../../src/watch/watch.ts";
import { Registries } from "../../../src/workspace/context.ts";
import { placeToolUser } from "../cli/tool-user.ts";
import { trusted } from "../trusted.ts";
import { type Lab, text, until } from "../workspace.ts";
import type { LlmServer } from "./llm-server.ts";

export const KEY = "the-key-of-the-watch-1234";

export interface Asking extends Disposable {
  /** What a person was told. */
  told: string[];
  round(): Promise<AgentSummary[]>;
  /** Rounds until it holds of the only agent. */
  until(holds: (summary: AgentSummary) => unknown): Promise<AgentSummary>;
}

export function asking(
  made: Pick<Lab, "root" | "folder">,
  { url }: Pick<LlmServer, "url">,
  llm: Record<string, string | number> = {},
): Asking {
  return askingBy(
    made,
    { llm: { provider: "anthropic", base_url: url, every: 0, ...llm } },
    { ANTHROPIC_API_KEY: KEY },
  );
}

/** The same by any configuration. */
export function askingBy(
  made: Pick<Lab, "root" | "folder">,
  file: Record<string, unknown>,
  env: Record<string, string>,
): Asking {
  const paths = layout(made.root);
  const engine = new EmbeddedEngine(paths);
  const context = {
    layout: paths,
    trust: trusted(made.folder),
    config: loadConfig({ file }),
    persons: loadConfig(),
    env: { ...process.env, ...env },
    cwd: made.folder,
    registries: new Registries(paths, rebuildFrom),
    ledger: new Ledger(() => ":memory:"),
    prices: LISTED,
    thresholds: {},
    engine,
    own: engine,
    journal: engine,
  };
  const told: string[] = [];
  const opinions = SecondOpinions.open(
    context,
    (text) => told.push(text),
    () => undefined,
  );
  const watch = new Watch(context, opinions);
  const round = async (): Promise<AgentSummary[]> => (await watch.round()).summaries;
  return {
    told,
    round,
    async until(holds) {
      let last: AgentSummary | undefined;
      await until(async () => {
        [last] = await round();
        return last !== undefined && holds(last);
      });
      return last as AgentSummary;
    },
    [Symbol.dispose]() {
      opinions?.[Symbol.dispose]();
      context.registries.close();
    },
  };
}

/** Prints the lines, then what is appended to `more`, and stays. */
export function placeSpeaker(
  made: Lab,
  lines: readonly object[],
): { env: NodeJS.ProcessEnv; more(line: object): void } {
  const bin = placeToolUser(made.folder);
  const file = join(made.folder, "lines.jsonl");
  const more = (line: object): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
  for (const line of lines) more(line);
  rmSync(join(bin, "claude"));
  appendFileSync(join(bin, "claude"), `#!/bin/sh\nexec tail -s 0.05 -n +1 -f '${file}'\n`, { mode: 0o755 });
  return { env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` }, more };
}

/** Undefined before anybody was asked. */
export function stateOf(made: Lab, { task, agent }: Pick<RunRecord, "task" | "agent">): OpinionState | undefined {
  const found = text(join(made.root, task, "summaries", agent, "second_opinion.json"));
  return found === "" ? undefined : (JSON.parse(found) as OpinionState);
}

export const init = { type: "system", subtype: "init", session_id: "s", model: "claude-sonnet-4-5" };

export function says(text: string, n = 0): object {
  return { type: "assistant", request_id: `s${n}`, message: { id: `s${n}`, content: [{ type: "text", text }] } };
}

export function step(n: number, answer: string, ok = true, command = `npm test parser ${ok ? n : ""}`): object[] {
  const use = { type: "tool_use", id: `t${n}`, name: "Bash", input: { command } };
  const result = { type: "tool_result", tool_use_id: `t${n}`, is_error: !ok, content: answer };
  return [
    { type: "assistant", request_id: `r${n}`, message: { id: `m${n}`, content: [use] } },
    { type: "user", message: { content: [result] } },
  ];
}
