import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { configFlag } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";

const ROUND_MS = 1000;

export const up: Operation = operation({
  name: "up",
  summary: "Keep house: start queued agents, clean up after ended ones, watch limits, render the journal",
  details:
    "Runs until Ctrl-C. It holds no truth: agents go on without it, and every command does what it meets. A line is printed for each thing done.",
  positionals: [],
  input: z.strictObject({
    once: z.boolean().describe("One round, then end").default(false),
    max_running: configFlag("max_running"),
  }),
  changes: true,
  examples: ["midwatch up", "midwatch up --once"],
  async *run(context, { once, max_running }) {
    const workspace = workspaceOf(context, { make: true, config: { max_running } });
    const loop = workspace.loop();
    const refresh = workspace.snapshotRounds();
    do {
      const { started, stopped } = await loop.round();
      await refresh();
      if (started > 0 || stopped.length > 0) yield { started, stopped };
      if (!once) await sleep(ROUND_MS, undefined, { signal: context.signal }).catch(() => undefined);
    } while (!once && !context.signal.aborted);
  },
  render: ({ started, stopped }) =>
    [started > 0 ? `started ${started} from the queue` : "", ...stopped.map((agent) => `stopped ${agent}`)]
      .filter(Boolean)
      .join("\n"),
});
