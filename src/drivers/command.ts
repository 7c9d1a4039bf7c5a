/** Any program: its lines are what it says, its exit code is how it ended. What only an agent CLI can do is refused. */
import type { Activity, Driver, LaunchRequest } from "./driver.ts";
import { judgeExit } from "./judge.ts";
import { unsupported } from "./refuse.ts";
import { emptyResult } from "./stream.ts";

export const command: Driver = {
  name: "command",
  program: null,
  install: null,
  json: false,
  mcp: false,
  knownVersions: [],
  /** The program and its arguments are the request's `args`. Permission means nothing to it: nothing asks. */
  launch(request) {
    refuse(request);
    return { argv: request.args, env: {}, stdin: request.prompt, files: [], session: null };
  },
  message: (text) => `${text}\n`,
  reader() {
    const result = emptyResult();
    return { read: (line): Activity[] => [{ kind: "said", text: lineText(line) }], result: () => ({ ...result }) };
  },
  judge: (ending) => judgeExit(ending),
};

function refuse({ args, model, resume, mcp }: LaunchRequest): void {
  const hint = "Choose the driver of an agent CLI, or leave it out.";
  if (args.length === 0)
    throw unsupported("command", "needs a program", "Write it after --: midwatch run -- make test");
  if (model !== null) throw unsupported("command", "takes no model", hint);
  if (resume !== null) throw unsupported("command", "has no session to resume", hint);
  if (mcp.length > 0) throw unsupported("command", "takes no MCP servers", hint);
}

export function lineText(line: unknown): string {
  return typeof line === "string" ? line : (JSON.stringify(line) ?? "");
}
