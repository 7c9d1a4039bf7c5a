import { z } from "zod";
import { configFlag } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";

export const up: Operation = operation({
  name: "up",
  summary: "Keep house: start queued agents, clean up after ended ones, watch limits, render and sync the journal",
  details:
    "Runs until Ctrl-C. It holds no truth: agents go on without it, and every command does what it meets. Of several, one leads and the others stand by; `midwatch leader` tells which. A line is printed for each thing done. After a write error it pauses and goes on when it can be written again (docs/leader.md).",
  positionals: [],
  input: z.strictObject({
    once: z.boolean().describe("One round, then end; none when another process leads").default(false),
    max_running: configFlag("max_running"),
    leader_ttl: configFlag("leader_ttl"),
    pause: configFlag("pause"),
    sync_remote: configFlag("sync_remote"),
    sync_every: configFlag("sync_every"),
  }),
  changes: true,
  examples: ["midwatch up", "midwatch up --once"],
  async *run(context, { once, ...config }) {
    using workspace = workspaceOf(context, { make: true, config });
    yield* workspace.keepHouse({ once, signal: context.signal, tell: (text) => context.notice(text) });
  },
  render: ({ started, stopped, archived, deleted, problem, term }) =>
    [
      started + stopped.length + archived + deleted > 0 || problem !== null
        ? ""
        : term === null
          ? "stands by"
          : `leads (term ${term})`,
      started > 0 ? `started ${started} from the queue` : "",
      ...stopped.map((agent) => `stopped ${agent}`),
      archived > 0 ? `archived the logs of ${archived}` : "",
      deleted > 0 ? `deleted ${deleted} from the trash` : "",
      problem ?? "",
    ]
      .filter(Boolean)
      .join("\n"),
});
