import { isOver } from "../../core/phase.ts";
import type { ShowRecord } from "../../core/types.ts";
import { agentRef } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { prettyLines } from "../read/logs.ts";
import { state } from "../render.ts";

const LINES = 100;

const input = z.strictObject({
  agent: agentRef().optional(),
  tmux: z.boolean().describe("A tmux window where there is a terminal and tmux").default(true),
});

export const attach: Operation = operation<typeof input, Uint8Array | ShowRecord>({
  name: "attach",
  summary: "Open a window on an agent; closing it leaves the agent alone",
  details:
    "On a terminal with tmux: a window in a tmux server of this workspace's own (Ctrl-B D leaves it, several people may look). Else, or with --no-tmux, it follows in the terminal. Both show what the agent says and does (`midwatch logs -f --pretty`). The window only shows: nothing that happens to it reaches the agent. `midwatch send` is for talking to it.",
  positionals: ["agent"],
  input,
  changes: false,
  cliOnly: true,
  examples: ["midwatch attach fix-1", "midwatch attach --no-tmux fix-1"],
  async *run(context, { agent: asked, tmux }) {
    const workspace = workspaceOf(context);
    const { agent, phase } = await workspace.runs.show(asked);
    const windowed = tmux && context.terminal && !context.json && !isOver({ phase });
    const window = windowed ? await workspace.runs.attach(agent, context.signal) : "absent";
    if (window === "absent") {
      if (windowed) context.notice("tmux is not here; following the log instead (Ctrl-C leaves it)");
      const seen = workspace.logs.activities(
        agent,
        { lines: LINES, follow: true, signal: context.signal },
        workspace.logs.maskers(),
      );
      if (!context.json) yield* prettyLines(seen);
    } else if (window === "failed" && !context.signal.aborted)
      context.notice("the window is gone; the agent has no part in that");
    if (!context.signal.aborted) yield await workspace.runs.show(agent);
  },
  render: (shown, options) => ("agent" in shown ? `${shown.agent}  ${state(shown, options)}` : ""),
  next: (shown) =>
    shown === undefined || !("agent" in shown)
      ? undefined
      : isOver(shown)
        ? `midwatch logs ${shown.agent}`
        : `midwatch attach ${shown.agent}`,
});
