/** What an ended run's stream tells: its outcome, session, tokens and cost, as its driver reads them. */
import { toMidwatchError } from "../core/errors.ts";
import { maskText } from "../core/mask/mask.ts";
import { questionIn } from "../core/question.ts";
import type { DeferredCall, RunResult } from "../core/types.ts";
import type { Activity, Driver, StreamResult } from "../drivers/driver.ts";
import { callText } from "../facts/call-text.ts";
import type { Facts } from "../facts/facts.ts";
import { interruptedBy } from "../facts/state.ts";
import { placeId } from "../journal/event.ts";
import { Journal } from "../journal/journal.ts";
import { knownHighest } from "../journal/snapshot/snapshot.ts";
import type { LogRecord } from "../log/record.ts";
import { spent } from "../spend/spent.ts";
import { type AuditEvent, audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { RunLog } from "./run-log.ts";
import { openStream, type Streams } from "./streams.ts";

const STDERR_MAX = 4096;
const TEXT_MAX = 2000;
const INPUT_MAX = 16_384;
const TURN_MAX = 20_000;
/** Of a run that says more, the last ones. */
const TURNS_MAX = 1000;

/** Null for drivers whose lines say nothing about the run. With `streams`, what was read already is not read again. */
export async function readResult(
  context: Context,
  name: RunName,
  facts: Facts,
  streams?: Streams,
): Promise<RunResult | null> {
  const { intent, exit, stop } = facts;
  if (!intent) return null;
  let driver: Driver;
  try {
    driver = await findDriver(context, intent.driver);
  } catch (error) {
    return lostDriver(facts, toMidwatchError(error).message);
  }
  if (!driver.json) return null;
  const said = intent.journal === "turns" ? new Turns(context, name) : undefined;
  const known = said === undefined ? await streams?.of({ ...name, facts }) : undefined;
  const listener = said && ((activities: readonly Activity[], record: LogRecord) => said.take(activities, record));
  const state = known?.isWhole ? known : openStream(context, { ...name, facts }, driver, listener);
  await state.readOn(false);
  await said?.tell();
  const { result } = state;
  const { outcome, reason } = driver.judge({
    exit: { code: exit?.code ?? null, signal: exit?.signal ?? null },
    stopRequested: exit?.stop_requested ?? stop !== undefined,
    limit: exit?.limit ?? stop?.limit ?? null,
    interrupted: interruptedBy(facts),
    result,
    stderr: stderrEnd(context, name),
  });
  const { session, model, tokens, session_use, cost_usd, turns, tools, subagents } = result;
  const text = result.finished?.text?.slice(0, TEXT_MAX) ?? null;
  const deferred = outcome === "failed" ? bounded(result.deferred) : null;
  const { least } = spent(result, model ?? intent.model);
  const spent_usd = cost_usd === null && least === 0 ? null : least;
  const used = { tokens, session_use, cost_usd, spent_usd, turns, tools, subagents };
  return { outcome, reason, session, model, ...used, deferred, text, ...leftOpen(result) };
}

function bounded(call: DeferredCall | null): DeferredCall | null {
  return call === null || JSON.stringify(call.input).length <= INPUT_MAX ? call : { ...call, input: null };
}

/** What it leaves to a person, whatever its outcome is. */
function leftOpen(result: StreamResult): Pick<RunResult, "asks" | "denied" | "failures"> {
  const { finished, denied, denial, tools, failed } = result;
  return {
    asks: questionIn(finished?.text ?? null),
    denied: denial && { count: denied, tool: denial.tool, call: callText(denial.input) },
    failures: tools > 0 && failed >= tools ? failed : null,
  };
}

/** A driver that is not configured any more: the exit is all there is. */
function lostDriver({ exit }: Facts, reason: string): RunResult {
  const seen = exit !== undefined && (exit.code !== null || exit.signal !== null);
  const outcome = exit?.stop_requested ? "stopped" : !seen ? "lost" : exit.code === 0 ? "completed" : "failed";
  const nothing = { session: null, model: null, tokens: null, session_use: null, cost_usd: null, text: null };
  return { outcome, reason, ...nothing, turns: 0, tools: 0 };
}

function stderrEnd(context: Context, name: RunName): string {
  using opened = new RunLog(context, { ...name, stderr: true, json: false });
  const log = opened.open(false);
  if (log === undefined) return "";
  const size = log.end(false);
  const bytes = Buffer.alloc(Math.min(size, STDERR_MAX));
  return bytes.toString("utf8", 0, log.source.read(bytes, size - bytes.length));
}

/** What an agent said, turn by turn, as one conversation of the journal (`run --journal turns`). */
class Turns {
  readonly #context: Context;
  readonly #name: RunName;
  #told: AuditEvent[] = [];

  constructor(context: Context, name: RunName) {
    this.#context = context;
    this.#name = name;
  }

  take(activities: readonly Activity[], { offset, timestamp }: LogRecord): void {
    const { agent, task, run } = this.#name;
    for (const [i, activity] of activities.entries()) {
      if (activity.kind !== "said" || activity.text.trim() === "") continue;
      this.#told.push({
        // A cleanup that is done twice tells the same turns with the same ids.
        id: placeId("turn", `${agent}.${run}`, `${offset}.${i}`),
        type: "turn",
        actor: agent,
        agent,
        task,
        content: maskText(activity.text).slice(0, TURN_MAX),
        data: { run },
        ...(timestamp ? { timestamp } : {}),
      });
    }
    if (this.#told.length > 2 * TURNS_MAX) this.#told = this.#told.slice(-TURNS_MAX);
  }

  async tell(): Promise<void> {
    if (this.#told.length === 0) return;
    const { journal, layout } = this.#context;
    const interaction = await new Journal(journal).nextInteraction(knownHighest(layout));
    audit(
      this.#context,
      this.#told.slice(-TURNS_MAX).map((event) => ({ ...event, interaction })),
    );
  }
}
