import type { Workspace } from "../../fleet/workspace.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const metrics: Operation = operation({
  name: "metrics",
  summary: "Figures for Prometheus: runs, verdicts, stops, disk, latency of the journal",
  details: "The same text as GET /metrics. A server that runs is asked: latencies are those of its process.",
  input: z.strictObject({}),
  changes: false,
  cliOnly: true,
  examples: ["midwatch metrics", "midwatch metrics | grep stop_seconds"],
  async run(context) {
    using workspace = workspaceOf(context);
    return { text: (await fromServer(workspace)) ?? (await workspace.up.metrics()) };
  },
  render: ({ text }) => text,
});

/** Undefined when none answers, or we are an agent, which has no token. */
async function fromServer(workspace: Workspace): Promise<string | undefined> {
  const server = await workspace.http.proven();
  if (server === undefined) return undefined;
  try {
    const headers = { authorization: `Bearer ${workspace.http.token()}` };
    const answer = await fetch(`${server.url}/metrics`, { headers, signal: AbortSignal.timeout(5000) });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}
