/** The file of the messages to a run: what stands in it, and the records that say which of it midwatch wrote (src/trust/later.ts). */
import type { Message, MessageState } from "../core/types.ts";
import type { Facts } from "../facts/facts.ts";
import { runNumbers } from "../facts/run-numbers.ts";
import { Log } from "../log/log.ts";
import { forgetLater, recordLater } from "../trust/later.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";

export const PERSON = "person";

/** A line of the file: a message, or a note of the keeper's on one. */
interface Line {
  id: string;
  at: string;
  from?: string;
  text?: string;
  state: MessageState | "injecting" | "read" | "refused";
}

export type Kept = Pick<Message, "id" | "at" | "from" | "text" | "state_at"> & { state: MessageState | "read" };
/** Its text as it was written: that is what was recorded. */
type KeptLine = Kept & { line: string; why: string | null };

export const WHY_REFUSED = "midwatch did not write it: somebody put it into the file.";
const WHY_FAILED =
  "Its keeper was killed while it was handed over: it may have arrived in part, and is not sent again.";

/** The messages in a run's file, each with its last state; the order is that of their acceptance. */
export function keptMessages(path: string): KeptLine[] {
  const found = new Map<string, KeptLine>();
  const log = Log.open(path, undefined, { type: "line", json: true });
  if (log === undefined) return [];
  try {
    for (const { record } of log.records({ offset: 0, line: 0 }, log.end(true))) {
      const line = record?.data as Partial<Line> | null | undefined;
      if (typeof line?.id !== "string" || typeof line.at !== "string" || line.state === undefined) continue;
      const known = found.get(line.id);
      if (known === undefined) {
        if (typeof line.text !== "string") continue;
        const { id, at, from = PERSON, text } = line;
        found.set(id, { id, at, from, text, state: "accepted", state_at: at, line: JSON.stringify(line), why: null });
      } else if (line.state !== "injecting") {
        known.why = line.state === "refused" ? WHY_REFUSED : line.state === "failed" ? WHY_FAILED : null;
        known.state = line.state === "refused" ? "failed" : line.state;
        known.state_at = line.at;
      }
    }
  } finally {
    log.close();
  }
  return [...found.values()];
}

/** Of a run that is over: what it was given is not given again, so nothing has to say that midwatch wrote it. */
export function forgetMessages(context: Context, { task, agent, run }: RunName, { intent }: Facts): void {
  if (!intent?.interactive && !intent?.messages?.length) return;
  const taken = new Set(intent.messages);
  for (const number of runNumbers(context, { task, agent }).filter((one) => one <= run))
    for (const { id, state, line } of keptMessages(context.layout.run(task, agent, number).messages))
      if (taken.has(id) || (number === run && state !== "accepted")) forgetLater(context.trust.state, line);
}

/** Of a workspace that a person takes over: what waits in it counts from now on. */
export function recordWaiting(context: Context): void {
  for (const { agent, run } of withReader(context, (registry) => registry.list({ all: true }))) {
    const { messages } = context.layout.run(agent.task, agent.id, run.run);
    for (const { state, line } of keptMessages(messages))
      if (state === "accepted")
        recordLater(context.trust.state, messages, line, `waited for ${agent.id} when its workspace was taken over`);
  }
}
