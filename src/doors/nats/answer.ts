/** The operations for other hosts of the fleet: what they ask is run here, in the name of a person, and the answer goes back bounded. */
import { dirname } from "node:path";
import { MidwatchError } from "../../core/errors.ts";
import { type AgentId, isAgentId } from "../../core/ids.ts";
import { maskValue } from "../../core/mask/mask.ts";
import type { Question, Workspace } from "../../fleet/workspace.ts";
import { operations } from "../../operations/index.ts";
import { type Context, isStream, type Operation, usage } from "../../operations/operation.ts";
import { REMOTE, type Travelled } from "../../operations/remote.ts";
import { schemaOf } from "../../operations/schema.ts";

const ANSWER_BYTES = 3 << 20;
const ANSWER_MS = 55_000;

export interface AnswerOptions {
  tell(text: string): void;
  signal: AbortSignal;
  env: Context["env"];
}

export function answer(workspace: Workspace, { tell, signal, env }: AnswerOptions): Promise<void> {
  return workspace.up.answerFleet({ tell, signal }, (question) => handle(workspace, env, question));
}

async function handle(workspace: Workspace, env: Context["env"], question: Question): Promise<Travelled> {
  const operation = operations.find(({ name }) => name === question.operation && REMOTE.includes(name));
  if (operation === undefined) throw usage("This host does not answer that.", "It may have another version.");
  // Rights are given by the subject: who may only look cannot call it by another name.
  if (operation.changes && !question.changes)
    throw new MidwatchError("REFUSED_RIGHT", `${operation.name} changes something.`, {
      hint: "Ask for it as a change.",
    });
  const { json, fields } = (question.input ?? {}) as { json?: boolean; fields?: unknown };
  const context: Context = {
    door: "nats",
    cwd: dirname(workspace.root),
    env,
    workspace: undefined,
    served: { workspace, caller: { agent: undefined } },
    json: json === true,
    terminal: false,
    signal: AbortSignal.timeout(ANSWER_MS),
    progress: () => undefined,
    notice: () => undefined,
  };
  const input = validated(operation, fields);
  if (!operation.changes) return await gathered(await operation.run(context, input));
  let failed: string | null = "INTERNAL";
  try {
    const done = await gathered(await operation.run(context, input));
    failed = null;
    return done;
  } catch (error) {
    if (error instanceof MidwatchError) failed = error.code;
    throw error;
  } finally {
    tellJournal(workspace, operation, fields, failed);
  }
}

function validated(operation: Operation, fields: unknown): unknown {
  const checked = schemaOf(operation).safeParse(fields ?? {});
  const given = (fields ?? {}) as Record<string, unknown>;
  const agents = [given["agent"], ...(Array.isArray(given["agents"]) ? given["agents"] : [])];
  const goesOn =
    agents.some((one) => String(one).includes("/")) || ["host", "on", "anywhere"].some((field) => given[field]);
  // A question is answered here or nowhere; it is not handed on.
  if (checked.success && !goesOn) return checked.data;
  const [issue] = checked.error?.issues ?? [];
  throw new MidwatchError(
    "USAGE",
    issue === undefined ? "This goes to one host." : `${issue.path.join(".")}: ${issue.message}.`,
    {
      hint: "The host may have another version.",
    },
  );
}

/** What and on whom; never what was said. */
function tellJournal(workspace: Workspace, { name }: Operation, fields: unknown, failed: string | null): void {
  const { agent, agents } = (fields ?? {}) as Record<string, unknown>;
  const targets = [agent, ...(Array.isArray(agents) ? agents : [])].filter((one): one is AgentId => isAgentId(one));
  const of = targets.length > 0 ? ` of ${targets.join(", ")}` : "";
  workspace.http.audit(
    {
      content: `a person asked for ${name}${of} over the fleet${failed === null ? "" : `: ${failed}`}`,
      ...(targets[0] === undefined ? {} : { agent: targets[0] }),
      data: { operation: name, targets, error: failed },
    },
    "fleet.change",
  );
}

/** Secrets are hidden in all of it; of a list or stream as much as a message takes. */
async function gathered(answer: unknown): Promise<Travelled> {
  const stream = isStream(answer);
  if (!stream && !Array.isArray(answer)) return { kind: "data", data: maskValue(answer) ?? null };
  const items: unknown[] = [];
  let [bytes, truncated] = [0, false];
  for await (const item of answer as AsyncIterable<unknown> | unknown[]) {
    const shown = item instanceof Uint8Array ? { $bytes: Buffer.from(item).toString("base64") } : maskValue(item);
    bytes += JSON.stringify(shown ?? null).length;
    truncated = items.length > 0 && bytes > ANSWER_BYTES;
    if (truncated) break;
    items.push(shown);
  }
  return { kind: stream ? "stream" : "list", items, truncated };
}
