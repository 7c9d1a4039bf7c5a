import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { configFlag } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";

const ROUND_MS = 1000;

export const up: Operation = operation({
  name: "up",
  summary: "Keep house: start queued agents, clean up after ended ones, watch limits",
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
    const loop = workspaceOf(context, { make: true, config: { max_running } }).loop();
    do {
      const round = await loop.round();
      const { started, stopped, archived, deleted, problem } = round;
      if (started + stopped.length + archived + deleted > 0 || problem !== null) yield round;
      if (!once) await sleep(ROUND_MS, undefined, { signal: context.signal }).catch(() => undefined);
    } while (!once && !context.signal.aborted);
  },
  render: ({ started, stopped, archived, deleted, problem }) =>
    [
      started > 0 ? `started ${started} from the queue` : "",
      ...stopped.map((agent) => `stopped ${agent}`),
      archived > 0 ? `archived the logs of ${archived}` : "",
      deleted > 0 ? `deleted ${deleted} from the trash` : "",
      problem ?? "",
    ]
      .filter(Boolean)
      .join("\n"),
});
