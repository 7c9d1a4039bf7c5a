/** From a tool call to operations: the context they run in, their checks, their answers, and errors as MCP knows them. */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import { toMidwatchError } from "../../core/errors.ts";
import { maskValue } from "../../core/mask/mask.ts";
import { type Caller, openWorkspace, type Workspace } from "../../fleet/workspace.ts";
import { type Change, type Context, isStream, type Operation, usage } from "../../operations/operation.ts";
import { schemaOf } from "../../operations/schema.ts";
import { Notices } from "../notices.ts";
import { type Call, readArguments, type Tool } from "./tool.ts";

/** Where a server stands: one workspace, which may still have to be made. */
export interface ServedAt {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `--workspace DIR`, when given. */
  workspace: string | undefined;
  /** Told after a call that may have changed something. */
  changed?: (change: Change) => void;
}

/** One workspace held open for all calls, and who asks. */
export class Served {
  readonly #place: ServedAt;
  #workspace: Workspace | undefined;
  readonly #caller: Caller | undefined;

  /** A server that serves others says who asks; on stdio it is whoever started us. */
  constructor(place: ServedAt, workspace?: Workspace, caller?: Caller) {
    this.#place = place;
    this.#workspace = workspace;
    this.#caller = caller;
  }

  /** With `make`, it is made when there is none. */
  open(make: boolean): Workspace {
    this.#workspace ??= openWorkspace({ ...this.#place, make });
    return this.#workspace;
  }

  served(make: boolean): { workspace: Workspace; caller: Caller } {
    const workspace = this.open(make);
    return { workspace, caller: this.#caller ?? workspace.caller() };
  }

  changed(operation: string, input: unknown, error: string | null): void {
    this.#place.changed?.({ operation, input, by: this.#caller?.agent, error });
  }

  context(make: boolean, signal: AbortSignal, more: Pick<Context, "progress" | "notice">): Context {
    const { env, workspace } = this.#place;
    const served = this.served(make);
    // An agent's paths begin where it works, wherever the server was started.
    const { agent } = served.caller;
    const cwd = (agent && served.workspace.runs.folderOf(agent)) ?? this.#place.cwd;
    return { door: "mcp", cwd, env, workspace, json: true, terminal: false, served, signal, ...more };
  }
}

/** Operations that make a workspace when there is none, as on the command line. */
const MAKERS: readonly string[] = ["run", "task", "event"];

export async function callTool(
  served: Served,
  tool: Tool,
  args: unknown,
  asked: ServerContext,
): Promise<CallToolResult> {
  const { changes, name } = tool.operation;
  try {
    const { input, more } = readArguments(tool, args);
    const call = callOf(served, MAKERS.includes(name), asked);
    const { success = true, guidance, cursor, ...reply } = await tool.run(call, input, more);
    if (changes) served.changed(name, input, null);
    // A cursor is given back as it is; what has the shape of a secret in it is none.
    const masked = maskValue({ ...reply, warnings: call.notices.all(), guidance }) as object;
    const data = { success, ...(cursor === undefined ? {} : { cursor }), ...masked };
    return { content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data };
  } catch (thrown) {
    const { code, message, hint, retryable } = toMidwatchError(thrown);
    if (changes) served.changed(name, args, code);
    const next = hint ?? null;
    // Callers know the code and the hint by other names too.
    const names = { code, error_type: code, hint: next, suggestion: next };
    const data = maskValue({ success: false, error: message, ...names, retryable });
    return { content: [{ type: "text", text: JSON.stringify(data) }], isError: true };
  }
}

function callOf(served: Served, make: boolean, { mcpReq }: ServerContext): Call {
  const notices = new Notices();
  const token = mcpReq._meta?.progressToken;
  let steps = 0;
  const progress = (text: string): void => {
    if (token === undefined || text === "") return;
    const params = { progressToken: token, progress: ++steps, message: text };
    // A courtesy: whoever has gone does not need it.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
  const context = served.context(make, mcpReq.signal, { progress, notice: (text) => notices.tell(text) });
  const run = (operation: Operation, input: Readonly<Record<string, unknown>>): unknown =>
    operation.run(context, checked(operation, input));
  return {
    async ask<T>(operation: Operation, input: Readonly<Record<string, unknown>>) {
      const answer = await run(operation, input);
      if (!isStream(answer)) return answer as T;
      const items: unknown[] = [];
      for await (const item of answer) items.push(item);
      return items as T;
    },
    async *items<T>(operation: Operation, input: Readonly<Record<string, unknown>>) {
      yield* (await run(operation, input)) as AsyncIterable<T>;
    },
    workspace: () => served.open(make),
    agent: context.served?.caller.agent,
    notices,
    signal: mcpReq.signal,
    progress,
  };
}

/** Fields that the caller left out are undefined for us, and missing for the schema. */
function checked(operation: Operation, input: Readonly<Record<string, unknown>>): unknown {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const { success, data, error } = schemaOf(operation).safeParse(given);
  if (success) return data;
  throw usage(
    `${error.issues[0]?.path.join(".")}: ${error.issues[0]?.message}`,
    "See the description of the tool's arguments.",
  );
}
