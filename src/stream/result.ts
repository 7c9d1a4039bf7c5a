/** What an ended run's stream tells: its outcome, session, tokens and cost, as its driver reads them. */
import { setImmediate as breathe } from "node:timers/promises";
import { toMidwatchError } from "../core/errors.ts";
import { questionIn } from "../core/question.ts";
import { parseRfc3339 } from "../core/time.ts";
import type { DeferredCall, RunResult } from "../core/types.ts";
import type { Driver, StreamResult } from "../drivers/driver.ts";
import { callText } from "../facts/call-text.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { logPath } from "../facts/log-path.ts";
import { runNumbers } from "../facts/run-numbers.ts";
import { interruptedBy } from "../facts/state.ts";
import { Log } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { Turns } from "./turns.ts";

/** Others get their turn after this many lines. */
const AT_ONCE = 2000;
const STDERR_MAX = 4096;
const TEXT_MAX = 2000;
const INPUT_MAX = 16_384;

/** Null for drivers whose lines say nothing about the run. */
export async function readResult(
  context: Context,
  name: RunName,
  facts: Facts,
  newest: boolean,
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
  const paths = logPath(context.layout, { ...name, newest });
  const reader = driver.reader(sessionBefore(context, name, facts));
  const said = intent.journal === "turns" ? new Turns(context, name) : undefined;
  await eachRecord(paths.log, (record) => {
    if (record.type === "lifecycle") return;
    const line = record.data === undefined ? (record.text ?? record.raw_content ?? "") : record.data;
    const activities = reader.read(line, record.timestamp ? parseRfc3339(record.timestamp) : null);
    said?.take(activities, record);
  });
  await said?.tell();
  const result = reader.result();
  const { outcome, reason } = driver.judge({
    exit: { code: exit?.code ?? null, signal: exit?.signal ?? null },
    stopRequested: exit?.stop_requested ?? stop !== undefined,
    limit: exit?.limit ?? stop?.limit ?? null,
    interrupted: interruptedBy(facts),
    result,
    stderr: stderrEnd(logPath(context.layout, { ...name, newest, stderr: true }).log),
  });
  const { session, model, tokens, session_use, cost_usd, turns, tools, subagents } = result;
  const text = result.finished?.text?.slice(0, TEXT_MAX) ?? null;
  const deferred = outcome === "failed" ? bounded(result.deferred) : null;
  const used = { tokens, session_use, cost_usd, turns, tools, subagents };
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

/** What the CLI had counted for the session when this run began: what the last run of the same session told at its end. */
export function sessionBefore(
  context: Context,
  { task, agent, run }: RunName,
  { intent }: Facts,
): RunResult["session_use"] {
  if (!intent?.resume) return null;
  for (const number of runNumbers(context, { task, agent }).reverse()) {
    if (number >= run) continue;
    const before = readFacts(context.layout.run(task, agent, number)).cleanup?.result;
    if (before?.session_use && before.session === intent.session) return before.session_use;
  }
  return null;
}

async function eachRecord(path: string, use: (record: LogRecord) => void): Promise<void> {
  const log = Log.open(path, undefined, { type: "stdout", json: true });
  if (log === undefined) return;
  try {
    const end = log.end(false);
    let n = 0;
    for (const { record } of log.records({ offset: 0, line: 0 }, end)) {
      if (record !== undefined) use(record);
      if (++n % AT_ONCE === 0) await breathe();
    }
  } finally {
    log.close();
  }
}

function stderrEnd(path: string): string {
  const log = Log.open(path, undefined, { type: "stderr", json: false });
  if (log === undefined) return "";
  try {
    const size = log.end(false);
    const bytes = Buffer.alloc(Math.min(size, STDERR_MAX));
    return bytes.toString("utf8", 0, log.source.read(bytes, size - bytes.length));
  } finally {
    log.close();
  }
}
