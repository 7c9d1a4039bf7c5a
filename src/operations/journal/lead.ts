import { configFlag, duration } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const lead: Operation = operation({
  name: "lead",
  summary: "Become the leader when nobody else is, and stay it: with heartbeats, and a command that runs meanwhile",
  details:
    "A line is printed when it is elected; it leads until Ctrl-C or SIGTERM, which give the lease back. Behind -- comes a command that runs while it leads: when it ends this ends, with its exit code; when the lease is lost it is told to end, and ended after 5 s. Exit 1 when the lease is lost, or not had in time. Inside a run its agent leads, under its own name, and may nothing that it may not otherwise: limits, queue and clean-up stay with `midwatch up` or the companion (docs/leader.md).",
  passthrough: "command",
  input: z.strictObject({
    command: z.array(z.string()).describe("What to run while it leads").meta({ value: "COMMAND" }).default([]),
    timeout: duration("Give up when somebody else leads for all of this time; exit 1").optional(),
    leader_ttl: configFlag("leader_ttl"),
  }),
  changes: true,
  cliOnly: true,
  examples: ["midwatch lead", "midwatch lead --timeout 2s --json", "midwatch lead -- ./dispatch.sh"],
  async *run(context, { command, timeout, leader_ttl }) {
    using workspace = workspaceOf(context, { make: true, config: { leader_ttl } });
    const tell = (text: string): void => context.notice(text);
    yield* workspace.up.lead({ signal: context.signal, tell, timeoutMs: timeout, command });
  },
  render: ({ state, actor, term, exit }) => {
    if (state === "leads") return `${actor} leads (term ${term})`;
    if (state === "ended") return `the command ended (${exit === null ? "by a signal" : `exit ${exit}`})`;
    return state === "lost" ? `${actor} does not lead any more` : `${actor} was not elected in time`;
  },
  next: (last) => (last?.state === "leads" || last?.state === "ended" ? undefined : "midwatch leader"),
  exitCode: ({ state, exit }) => (state === "leads" ? 0 : state === "ended" ? (exit ?? 1) : 1),
});
