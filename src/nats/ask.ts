/**
 * One host asks another. What only looks is asked once. What changes something carries an id, and whoever would do it first claims that
 * id in a register; whoever gives up waiting claims it too. So it is done once, however often it is sent, and a host that stood still
 * and wakes up finds that it is no longer wanted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorRecord, MidwatchError, toMidwatchError } from "../core/errors.ts";
import { uuidv7 } from "../core/ids.ts";
import { isFields, parseJson } from "../core/json.ts";
import { iso } from "../core/time.ts";
import { isUnheard } from "./fault.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import type { NatsRegisters } from "./registers.ts";

export interface Question {
  operation: string;
  input: unknown;
  changes: boolean;
}

interface Sent extends Question {
  v: 1;
  id: string;
}

type Reply = { answer: unknown } | { error: ErrorRecord };
type Claim = { state: "taken" | "given up"; at: string } | { state: "done"; at: string; reply: Reply };

const LOOK_MS = 5000;
const DO_MS = 60_000;
/** A question is sent again after this; the id makes that harmless. */
const TRY_MS = 10_000;
const WAIT_MS = 200;
/** What was claimed is kept this long, for whoever asks again. */
const KEEP_MS = 3_600_000;

export interface Line {
  hub: Hub;
  names: Names;
  registers: NatsRegisters;
}

export async function ask(line: Line, host: string, question: Question, timeoutMs?: number): Promise<unknown> {
  const { hub, names } = line;
  const sent: Sent = { v: 1, id: uuidv7(), ...question };
  const payload = JSON.stringify(sent);
  const subject = names.ask(host, question.changes ? "do" : "look");
  const until = performance.now() + (timeoutMs ?? (question.changes ? DO_MS : LOOK_MS));
  for (let tries = 1; ; tries++) {
    const rest = Math.max(1, until - performance.now());
    try {
      return answerOf((await hub.request(subject, payload, undefined, Math.min(TRY_MS, rest))).json<Reply>());
    } catch (error) {
      if (!(error instanceof MidwatchError && error.code === "HUB_AWAY")) throw error;
      if (isUnheard(error) && (tries === 1 || performance.now() > until - WAIT_MS)) {
        if (tries > 1 && question.changes) return await giveUp(line, host, sent);
        throw awayHost(host, "it is not connected to the hub");
      }
      if (!question.changes) throw awayHost(host, "it gives no answer");
      if (performance.now() >= until) return await giveUp(line, host, sent);
      await sleep(Math.min(WAIT_MS, rest));
    }
  }
}

/** Nothing will be done, or it was done and this is the answer; else nobody knows. */
async function giveUp({ registers }: Line, host: string, { id }: Sent): Promise<unknown> {
  const key = claimKey(host, id);
  const mine: Claim = { state: "given up", at: iso() };
  if ((await registers.set(key, mine, 0)) !== undefined)
    throw awayHost(host, "it gives no answer, and what was asked will not be done");
  const found = (await registers.get<Claim>(key))?.value;
  if (found?.state === "done") return answerOf(found.reply);
  throw new MidwatchError("OUTCOME_UNKNOWN", `${host} has begun what was asked, and gives no answer.`, {
    hint: "Look there when it is back: `midwatch ls --all-hosts`.",
  });
}

/** From now on, until the connection ends. Of several processes of one host, one gets each question. */
export async function answer(
  line: Line,
  host: string,
  handle: (question: Question) => Promise<unknown>,
): Promise<void> {
  const { hub, names } = line;
  for (const kind of ["look", "do"] as const)
    hub.connection.subscribe(names.ask(host, kind), {
      queue: "host",
      callback: (error, message) => {
        if (error) return;
        void reply(line, host, kind === "do", message.string(), handle)
          .then((text) => message.respond(text))
          .catch(() => undefined); // Who asked will ask again, or give up.
      },
    });
  // The hub knows of it when this is answered, not before.
  await hub.flush();
}

async function reply(
  line: Line,
  host: string,
  changes: boolean,
  text: string,
  handle: (question: Question) => Promise<unknown>,
): Promise<string> {
  const sent = parseJson(text) as Sent | undefined;
  if (!isFields(sent)) return JSON.stringify({ error: new MidwatchError("USAGE", "This is no question.") });
  const act = async (): Promise<Reply> => {
    try {
      // What may be asked is decided by the subject it came on, not by what it says of itself.
      return { answer: await handle({ operation: sent.operation, input: sent.input, changes }) };
    } catch (error) {
      return { error: toMidwatchError(error).toJSON() };
    }
  };
  return JSON.stringify(changes ? await once(line, host, sent.id, act) : await act());
}

async function once({ registers }: Line, host: string, id: string, act: () => Promise<Reply>): Promise<Reply> {
  const key = claimKey(host, id);
  const rev = await registers.set(key, { state: "taken", at: iso() } satisfies Claim, 0);
  if (rev !== undefined) {
    const done = await act();
    // It is done whether that can be kept or not; who asked is told in any case.
    await registers.set(key, { state: "done", at: iso(), reply: done } satisfies Claim, rev).catch(() => undefined);
    return done;
  }
  for (const until = performance.now() + DO_MS; performance.now() < until; await sleep(WAIT_MS)) {
    const found = (await registers.get<Claim>(key))?.value;
    if (found?.state === "done") return found.reply;
    if (found?.state !== "taken") break;
  }
  const error = new MidwatchError("OUTCOME_UNKNOWN", "Who asked has given up, or somebody else is at it.", {});
  return { error: error.toJSON() };
}

/** Takes away what was claimed long ago. Only its host does. */
export async function forgetClaims(registers: NatsRegisters, host: string): Promise<void> {
  for (const key of await registers.keys(`asks/${host}/`)) {
    const found = await registers.get<Claim>(key);
    if (found !== undefined && Date.now() - Date.parse(found.value.at) > KEEP_MS)
      await registers.set(key, null, found.rev);
  }
}

function claimKey(host: string, id: string): string {
  return `asks/${host}/${/^[0-9a-f-]{1,64}$/.test(id) ? id : "none"}`;
}

function answerOf(reply: Reply): unknown {
  if (!("error" in reply)) return reply.answer;
  const { code, message, hint, retryable } = reply.error;
  throw new MidwatchError(code, message, { hint: hint ?? undefined, retryable });
}

export function awayHost(host: string, why: string): MidwatchError {
  return new MidwatchError("HOST_AWAY", `${host} cannot be reached: ${why}.`, {
    hint: "Its agents go on meanwhile; `midwatch hosts` tells who is there.",
  });
}
