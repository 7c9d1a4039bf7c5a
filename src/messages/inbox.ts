/**
 * Messages to an agent. A message is one line in messages.jsonl of its newest run: whoever sends appends it and is done. The keeper
 * of an interactive run takes the lines in their order to the agent's input and notes there what became of them. What no run
 * has taken up stays accepted, and the next `restart --resume` gives it to the session.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { type AgentId, quote } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { iso } from "../core/time.ts";
import type { Message, MessageState } from "../core/types.ts";
import { append } from "../disk/append.ts";
import { errno } from "../disk/fault.ts";
import { assertInside, makeFolder } from "../disk/inside.ts";
import type { RunPaths } from "../disk/layout.ts";
import { createExclusive } from "../disk/replace.ts";
import type { Driver } from "../drivers/driver.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { stat } from "../facts/record.ts";
import { wakeKeeper } from "../facts/tell-keeper.ts";
import { RunLog } from "../stream/run-log.ts";
import { Streams } from "../stream/streams.ts";
import { isRecorded, recordLater } from "../trust/later.ts";
import type { Apart } from "../workspace/apart.ts";
import { assertMate, callingAgent } from "../workspace/caller.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { type Kept, keptMessages, PERSON, WHY_REFUSED } from "./kept-messages.ts";

const TEXT_MAX = 1_000_000;
/** The first message of an interactive run is from nobody: it is what the run was started for. */
const PROMPT = "prompt";

export function sendMessage(context: Context, agent: AgentId, text: string, driver: Driver): Message {
  assertMate(context, agent, "send messages to");
  const { paths, facts, listed } = locate(context, agent);
  if (text.trim() === "") throw new MidwatchError("USAGE", "The message is empty.", { hint: "Say something." });
  if (text.length > TEXT_MAX)
    throw new MidwatchError("USAGE", `The message has ${text.length} characters; at most ${TEXT_MAX} are sent.`, {
      hint: "Put long text into a file and name the file.",
    });
  const open = takesInput(facts, paths);
  if (!open && driver.program === null) throw noInput(agent, facts);
  assertInside(context.layout.root, paths.messages);
  const kept = accept(context, paths, senderOf(context), text, open ? driver : undefined);
  if (open) wakeKeeper(facts);
  return { ...kept, agent, run: listed.run.run, state: "accepted", taken_by: null, why: null };
}

/** One line, durable when this returns. `input`, last in it, is what the keeper hands over. */
function accept(
  { layout, trust }: Context,
  paths: RunPaths,
  from: string,
  text: string,
  driver: Driver | undefined,
): Kept {
  const at = iso();
  const message = { id: randomUUID(), at, from, text, state: "accepted" as const };
  const line = { ...message, input: driver?.message?.(text) };
  recordLater(trust.state, paths.messages, JSON.stringify(line), `a message to ${paths.of.agent}`);
  const write = (): void => {
    makeFolder(layout.root, paths.dir); // A sealed run has none.
    append(paths.messages, [line], { sync: true });
  };
  try {
    write();
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error;
    write(); // It was sealed between the two steps, and its folder empty.
  }
  return { ...message, state_at: at };
}

function senderOf(context: Context): string {
  return callingAgent(context) ?? PERSON;
}

/** Its input is open, or will be when it starts. */
function takesInput(facts: Facts, paths: RunPaths): boolean {
  return facts.intent?.interactive === true && !hasEnded(facts) && !existsSync(paths.inputClosed);
}

function noInput(agent: AgentId, facts: Facts): MidwatchError {
  const why = !facts.intent?.interactive
    ? "was not started with --interactive"
    : hasEnded(facts)
      ? "has ended"
      : "has its input closed";
  return new MidwatchError("REFUSED_INPUT", `${agent} ${why}, and a command has no session that could go on.`, {
    hint: `midwatch run --interactive -- COMMAND starts one that takes messages; midwatch show ${agent} tells about this one.`,
  });
}

/** The agent reads what was sent so far, and then the end of its input. */
export function closeInput(context: Context, agent: AgentId): void {
  assertMate(context, agent, "close the input of");
  const { paths, facts } = locate(context, agent);
  if (!facts.intent?.interactive)
    throw new MidwatchError("REFUSED_INPUT", `${agent} was not started with --interactive: it has no open input.`, {
      hint: `midwatch show ${agent}`,
    });
  if (!hasEnded(facts)) close(context, paths, facts);
}

function close(context: Context, paths: RunPaths, facts: Facts): void {
  assertInside(context.layout.root, paths.inputClosed);
  createExclusive(paths.inputClosed, `${JSON.stringify({ at: iso(), by: senderOf(context) })}\n`);
  wakeKeeper(facts);
}

/** Agents that have finished, and to whom nobody has said anything for `interactive_idle`, get the end of their input. */
export async function closeIdle(
  context: Context,
  observed: readonly Observed[],
  streams: Streams,
  apart: Apart,
): Promise<void> {
  for (const one of observed) {
    const { intent } = one.facts;
    const paths = context.layout.run(one.task, one.agent, one.run);
    if (one.row.phase !== "running" || !intent?.interactive || existsSync(paths.inputClosed)) continue;
    const moved = Math.max(...[paths.messages, one.row.log].map((path) => stat(path)?.mtimeMs ?? 0));
    if (Date.now() - moved < context.config.interactive_idle) continue;
    await apart.each(one, async () => {
      if ((await streams.read(one)).result.finished !== null) closeIfRoom(context, paths, one.facts);
    });
  }
}

/** On a full disk the next round tries again; `stop` always works. */
function closeIfRoom(context: Context, paths: RunPaths, facts: Facts): void {
  try {
    close(context, paths, facts);
  } catch (error) {
    if (toMidwatchError(error).code !== "DISK_FULL") throw error;
  }
}

/** All messages to an agent, over all its runs. */
export async function messagesOf(context: Context, agent: AgentId, streams: Streams): Promise<Message[]> {
  const { task } = locate(context, agent).listed.agent;
  const runs = withReader(context, (registry) => registry.runsOf(agent)).map(({ run }) => run);
  const taken = takenUp(
    context,
    runs.map((run) => ({ task, agent, run })),
  );
  const all: Message[] = [];
  for (const run of runs.toSorted((a, b) => a - b)) {
    const name = { task, agent, run };
    const paths = context.layout.run(task, agent, run);
    const kept = keptMessages(paths.messages);
    const given = kept.filter(({ state }) => state === "injected" || state === "read");
    const received = given.length === 0 ? undefined : await receivedBy(context, name, streams);
    const told = received === undefined ? given.filter(({ state }) => state === "read") : given.slice(0, received);
    const consumed = new Set(told.map(({ id }) => id));
    for (const { line, ...message } of kept) {
      const isWaiting = message.state === "accepted";
      const later = isWaiting ? taken.get(message.id) : undefined;
      const refused = isWaiting && later === undefined && !isRecorded(context.trust.state, line);
      all.push({
        ...message,
        agent,
        run,
        state: refused
          ? "failed"
          : (later?.state ?? (consumed.has(message.id) ? "consumed" : injectedAtLeast(message.state))),
        state_at: later?.at ?? message.state_at,
        taken_by: later?.run ?? null,
        why: refused ? WHY_REFUSED : message.why,
      });
    }
  }
  return all;
}

/** Read is not taken up yet where the stream would tell. */
function injectedAtLeast(state: Kept["state"]): MessageState {
  return state === "read" ? "injected" : state;
}

/** How many messages its stream says it took up; undefined when its CLI does not tell: then what was read counts. */
async function receivedBy(context: Context, name: RunName, streams: Streams): Promise<number | undefined> {
  const facts = readFacts(context.layout.run(name.task, name.agent, name.run));
  try {
    if (!facts.intent || !(await findDriver(context, facts.intent.driver)).echoes) return undefined;
    return (await streams.read({ ...name, facts })).received;
  } catch (error) {
    if (toMidwatchError(error).code === "NO_RESOURCES") throw error;
    return undefined; // The driver is not configured any more.
  }
}

/** Messages that a later run got with its prompt: its intent names them, so both are known or neither. */
function takenUp(
  context: Context,
  runs: readonly RunName[],
): Map<string, { run: number; at: string; state: "injected" | "consumed" }> {
  const taken = new Map<string, { run: number; at: string; state: "injected" | "consumed" }>();
  for (const name of runs) {
    const { intent, start } = readFacts(context.layout.run(name.task, name.agent, name.run));
    if (!intent?.messages?.length || !start || start.exec_error) continue;
    const state = hasPrinted(context, name) ? "consumed" : "injected";
    for (const id of intent.messages) taken.set(id, { run: name.run, at: start.started_at, state });
  }
  return taken;
}

function hasPrinted(context: Context, name: RunName): boolean {
  using opened = new RunLog(context, { ...name, json: true });
  const log = opened.open(true);
  for (const { record } of log?.records({ offset: 0, line: 0 }, log.end(true)) ?? [])
    if (record !== undefined && record.type !== "lifecycle") return true;
  return false;
}

/** Sent to it, and taken up by no run so far. The prompt of a run is not told again by those behind the next. */
export async function waitingMessages(context: Context, agent: AgentId, newest: number): Promise<Message[]> {
  const all = await messagesOf(context, agent, new Streams(context));
  return all.filter(({ state, from, run }) => state === "accepted" && (from !== PROMPT || run === newest));
}

/** What a resumed session is told: the caller's words first, then what was sent to it meanwhile. */
export function resumePrompt(words: string | null, waiting: readonly Message[]): string | null {
  const parts = waiting.map(({ from, text }) =>
    from === PERSON || from === PROMPT ? text : `Message from ${from}:\n${text}`,
  );
  const all = words === null ? parts : [words, ...parts];
  return all.length === 0 ? null : all.join("\n\n");
}

/** The first message of an interactive run is its prompt; a run of the queue has it already when its turn comes. */
export function writeFirstMessage(context: Context, intent: IntentFact, text: string, driver: Driver): void {
  const paths = context.layout.run(intent.task, intent.agent, intent.run);
  if (keptMessages(paths.messages).length === 0) accept(context, paths, PROMPT, text, driver);
}

/** Said before anything is made. */
export function assertTakesMessages(driver: Driver): void {
  if (driver.message !== undefined) return;
  throw new MidwatchError("USAGE", `The driver ${quote(driver.name)} takes no messages while it runs.`, {
    hint: "Leave --interactive out; `midwatch send` keeps messages for `midwatch restart ID --resume`.",
  });
}
