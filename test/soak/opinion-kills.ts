/**
 * Watches that ask a model are killed at random, two at a time, while the model answers late, badly, with errors or never. In the end no
 * agent has cost more than its budget, counted by the model itself, and every line that the watch takes for told was told.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { pick, random } from "../support/data/random.ts";
import { GOOD, llmServer, type Reply } from "../support/model/llm-server.ts";
import { stateOf } from "../support/model/opinions.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const BUDGET = 25_000;
const AGENTS = 3;

/** `count` kills. */
export function opinionKills(count: number, seed = 1): Promise<Report> {
  return campaign("kills of watches that ask a model", count, seed, async (fail, figures) => {
    const next = random(seed);
    const cost = new Map<string, number>();
    const told = new Map<string, Set<number>>();
    const usual: Reply[] = [
      JSON.stringify(GOOD),
      "no JSON",
      { status: 429 },
      { status: 500 },
      "hang",
      "x".repeat(65_536),
    ];
    const llm = await llmServer(({ body }) => {
      const name = /marker-\d/.exec(body)?.[0] ?? "none";
      const lines = told.get(name) ?? new Set();
      told.set(name, lines);
      for (const [, line] of body.matchAll(/L(\d+) says/g)) lines.add(Number(line));
      const reply = next() < 0.5 ? (usual[0] as string) : pick(next, usual);
      const answered = typeof reply === "string" && reply !== "hang" && reply.length < 32_768;
      // A call that hangs has been read all the same.
      const free = typeof reply === "object";
      if (!free) cost.set(name, (cost.get(name) ?? 0) + Math.ceil((body.length + (answered ? reply.length : 0)) / 4));
      return reply;
    });
    const lab = new Lab();
    const watches = new Set<ChildProcess>();
    try {
      const script = (n: number): string =>
        `i=0; while :; do i=$((i+1)); echo "{\\"n\\":$i,\\"of\\":\\"marker-${n}\\"}"; sleep 0.3; done`;
      const runs = [];
      for (let n = 0; n < AGENTS; n++) runs.push(await lab.sh(script(n)));
      for (let round = 0; round < count; round++) {
        while (watches.size < 2) {
          const args = [supportFile("worker/opinion-loop.ts"), lab.root, lab.folder, llm.url, String(BUDGET)];
          watches.add(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }));
        }
        // When some calls have been made, a moment after one has begun.
        const calls = llm.requests.length + 1 + Math.floor(next() * 5);
        await until(() => llm.requests.length >= calls, 10_000).catch(() => undefined);
        await sleep(next() * 100);
        const victim = pick(next, [...watches]);
        const ended = once(victim, "exit");
        victim.kill("SIGKILL");
        await ended;
        watches.delete(victim);
      }
      for (const [n, run] of runs.entries()) {
        const name = `marker-${n}`;
        const state = stateOf(lab, run);
        if (state === undefined || state.used.calls === 0) {
          fail(`${name} was never asked about`);
          continue;
        }
        if ((cost.get(name) ?? 0) > BUDGET) fail(`${name} cost ${cost.get(name)} of ${BUDGET}`);
        const missed = Array.from({ length: state.line }, (_, i) => i + 1).filter((line) => !told.get(name)?.has(line));
        if (missed.length > 0)
          fail(`${missed.length} of ${state.line} lines of ${name} were not told, the first is ${missed[0]}`);
        figures[name] = `${state.line} lines, ${cost.get(name)} tokens, ${state.used.calls} answers`;
      }
      figures["requests"] = llm.requests.length;
    } finally {
      for (const child of watches) child.kill("SIGKILL");
      llm.close();
      await lab.end();
    }
  });
}
