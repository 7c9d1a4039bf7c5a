/** What an ended run's stream tells: its outcome, session, tokens and cost, as its driver reads them. */
import { toMidwatchError } from "../core/errors.ts";
import { questionIn } from "../core/question.ts";
import type { DeferredCall, RunResult } from "../core/types.ts";
import type { Activity, Driver, StreamResult } from "../drivers/driver.ts";
import { callText } from "../facts/call-text.ts";
import type { Facts } from "../facts/facts.ts";
import { interruptedBy } from "../facts/state.ts";
import type { LogRecord } from "../log/record.ts";
import { spent } from "../spend/spent.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { RunLog } from "./run-log.ts";
import { openStream, type Streams } from "./streams.ts";
import { Turns } from "./turns.ts";

const STDERR_MAX = 4096;
const TEXT_MAX = 2000;
const INPUT_MAX = 16_384;
/** Of a log whose turns are told: read at a stretch, and told, so that memory stays bounded. */
const TOLD_BYTES = 4 << 20;

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
  for (let more = true; more; ) {
    more = await state.readOn(false, said && TOLD_BYTES);
    await said?.tell();
  }
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
  const { parts } = spent(result, intent.model, context.prices);
  const used = { tokens, session_use, cost_usd, spent: parts, turns, tools, subagents };
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
