/**
 * One host asks another. What only looks is asked once. What changes something carries an id, and whoever would do it first claims that
 * id in a register; whoever gives up waiting claims it too. So it is done once, however often it is sent, and a host that stood still
 * and wakes up finds that it is no longer wanted.
 *
 * A question is signed by the person who asks, for one host and for two minutes; the host looks at that before it claims or does anything,
 * and signs its answer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Msg } from "@nats-io/transport-node";
import { type ErrorRecord, MidwatchError, toMidwatchError } from "../core/errors.ts";
import { uuidv7 } from "../core/ids.ts";
import { isFields, parseJson } from "../core/json.ts";
import { iso } from "../core/time.ts";
import { isUnheard } from "./fault.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import type { NatsRegisters } from "./registers.ts";
import { LIFE_MS, whyRefused } from "./signed/question.ts";
import { counts, SEAL, type Seal, type Seals } from "./signed/seals.ts";

export interface Question {
  operation: string;
  input: unknown;
  changes: boolean;
}

interface Sent extends Question {
  v: 1;
  id: string;
  at: string;
  expires: string;
}

/** What a host said, and whether it signed that. */
export interface Answered {
  answer: unknown;
  signed: boolean;
}

type Reply = { answer: unknown } | { error: ErrorRecord };
type Claim = { state: "taken" | "given up"; at: string } | { state: "done"; at: string; reply: Reply };

/** What a host answers to everybody: that it is there, and which workspace it is. */
export const PING = "ping";

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
  seals: Seals;
}

export async function ask(line: Line, host: string, question: Question, timeoutMs?: number): Promise<Answered> {
  const { hub, names, seals } = line;
  const now = Date.now();
  const sent: Sent = { v: 1, id: uuidv7(), at: iso(now), expires: iso(now + LIFE_MS), ...question };
  const payload = JSON.stringify(sent);
  const subject = names.ask(host, question.changes ? "do" : "look");
  const until = performance.now() + (timeoutMs ?? (question.changes ? DO_MS : LOOK_MS));
  for (let tries = 1; ; tries++) {
    const rest = Math.max(1, until - performance.now());
    try {
      // Signed anew for each try: a copy of what was sent before is nobody's try.
      const headers = hub.headers(seals.headers("question", subject, payload));
      const message = await hub.request(subject, payload, headers, Math.min(TRY_MS, rest));
      const sealed = { subject, payload: message.data, headers: message.headers, more: sent.id, host };
      const seal = seals.judge("answer", sealed);
      if (seal === "wrong") throw falseAnswer(host);
      return { answer: answerOf(message.json<Reply>()), signed: counts(seal) && !seals.isOpen };
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
async function giveUp({ registers, seals }: Line, host: string, { id }: Sent): Promise<Answered> {
  const key = claimKey(host, id);
  const mine: Claim = { state: "given up", at: iso() };
  if ((await registers.set(key, mine, 0)) !== undefined)
    throw awayHost(host, "it gives no answer, and what was asked will not be done");
  const found = (await registers.get<Claim>(key))?.value;
  if (found?.state === "done") return { answer: answerOf(found.reply), signed: !seals.isOpen };
  throw new MidwatchError("OUTCOME_UNKNOWN", `${host} has begun what was asked, and gives no answer.`, {
    hint: "Look there when it is back: `midwatch ls --all-hosts`.",
  });
}

export interface Answering {
  handle(question: Question): Promise<unknown>;
  /** Whom it may concern that this was asked for and not done. */
  refused?(error: MidwatchError): void;
  /** Somebody asks whose key we do not know: people may have changed theirs. */
  stranger?(): Promise<void>;
}

/** From now on, until the connection ends. Of several processes of one host, one gets each question. */
export async function answer(line: Line, host: string, answering: Answering): Promise<void> {
  const { hub, names, seals } = line;
  const heard = new Hearing();
  for (const kind of ["look", "do"] as const) {
    const subject = names.ask(host, kind);
    const hear = async (message: Msg): Promise<void> => {
      const sent = (parseJson(message.string()) ?? {}) as Partial<Sent>;
      const refusal = await heard.refusal(line, subject, message, sent, answering);
      if (refusal !== undefined) answering.refused?.(refusal);
      // Nobody is to be made to write into a stream by having us answer there.
      if (!INBOX.test(message.reply ?? "")) return;
      const text =
        refusal === undefined
          ? await reply(line, host, kind === "do", sent as Sent, answering)
          : JSON.stringify({ error: refusal });
      message.respond(text, { headers: hub.headers(seals.headers("answer", subject, text, String(sent.id))) });
    };
    hub.connection.subscribe(subject, {
      queue: "host",
      // Who asked will ask again, or give up.
      callback: (error, message) => void (error ?? hear(message).catch(() => undefined)),
    });
  }
  // The hub knows of it when this is answered, not before.
  await hub.flush();
}

/** Where a client or a server of NATS waits for an answer. */
const INBOX = /^_(INBOX[A-Za-z0-9_-]*|R_)\./;
/** A server adds them to what it takes out of a stream. This one it adds between accounts. */
const STREAM_HEADER = /^nats-(?!request-info$)/i;

/** The questions of the last minutes, by their seals: a copy of one is refused, whatever the hub keeps of it. */
class Hearing {
  readonly #until = new Map<string, number>();

  async refusal(
    { hub, seals }: Line,
    subject: string,
    message: Msg,
    sent: Partial<Sent>,
    { stranger }: Answering,
  ): Promise<MidwatchError | undefined> {
    const judge = (): Seal => seals.judge("question", { subject, payload: message.data, headers: message.headers });
    let seal = judge();
    if (seal === "wrong" && stranger !== undefined) {
      await stranger();
      seal = judge();
    }
    const nowMs = Date.now();
    for (const [known, until] of this.#until) {
      if (until >= nowMs) break; // The oldest come first; a few that expire a little earlier can wait.
      this.#until.delete(known);
    }
    const text = message.headers?.get(SEAL) ?? "";
    // To claim anything is no harmless thing.
    const isPing = sent.operation === PING && subject.endsWith(".look");
    const [atMs, expiresMs] = [Date.parse(sent.at ?? ""), Date.parse(sent.expires ?? "")];
    const refusal = whyRefused({
      ...{ seal, keyless: hub.isKeyless, harmless: isPing, id: sent.id, atMs, expiresMs, nowMs },
      fromStream: message.headers?.keys().some((name) => STREAM_HEADER.test(name)) ?? false,
      strangeReply: !INBOX.test(message.reply ?? ""),
      again: this.#until.has(text),
    });
    if (refusal === undefined && seal === "signed") this.#until.set(text, expiresMs);
    return refusal;
  }
}

async function reply(line: Line, host: string, changes: boolean, sent: Sent, { handle }: Answering): Promise<string> {
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

function falseAnswer(host: string): MidwatchError {
  return new MidwatchError("REFUSED_SIGNATURE", `What came back in the name of ${host} is not signed by it.`, {
    hint: "Look at the host itself. If its key was changed: `midwatch nats init` again, then `midwatch hosts` (docs/scale.md).",
  });
}

export function awayHost(host: string, why: string): MidwatchError {
  return new MidwatchError("HOST_AWAY", `${host} cannot be reached: ${why}.`, {
    hint: "Its agents go on meanwhile; `midwatch hosts` tells who is there.",
  });
}
