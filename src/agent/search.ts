/** Finding text in the logs of a workspace, live and archived. */
import { MidwatchError, throwIfExhausted, toMidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { SecretPrints } from "../core/secret-values.ts";
import { readJson } from "../disk/replace.ts";
import { fileOf, type Piece } from "../log/piece.ts";
import type { Hit } from "../log/search.ts";
import { searchPieces } from "../log/search-pool.ts";
import { type Context, withReader } from "./context.ts";
import { readFacts } from "./facts.ts";
import type { RunName } from "./launch.ts";
import { logPlaces } from "./log-path.ts";
import { hasEnded } from "./observe.ts";
import { openRun } from "./open-run.ts";

export interface SearchOptions {
  task?: TaskId | undefined;
  agent?: AgentId | undefined;
  sinceMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** A log that cannot be searched, or not to its end; the others are. Who does not ask for it gets an error behind the last hit. */
  onUnread?: ((agent: AgentId, run: number, why: string) => void) | undefined;
  /** Bytes there are to search, told once. */
  onStart?: ((logs: number, bytes: number) => void) | undefined;
}

export interface SearchHit extends Hit {
  agent: AgentId;
  run: number;
  /** `agent.run@offset`: where `logs --run N` and the library go on. */
  cursor: string;
}

const PIECE_BYTES = 256 << 20;

export async function* searchLogs(
  context: Context,
  text: string,
  options: SearchOptions = {},
): AsyncGenerator<SearchHit> {
  const signal = options.signal ?? new AbortController().signal;
  const pieces: (Piece & { agent: AgentId; run: number })[] = [];
  const logs = runsOf(context, options);
  const unreadRuns = new Map<string, string>();
  const unread = (agent: AgentId, run: number, why: string): void => {
    if (!unreadRuns.has(`${agent}.${run}`)) options.onUnread?.(agent, run, why);
    unreadRuns.set(`${agent}.${run}`, why);
  };
  for (const { task, agent, run } of logs) {
    try {
      pieces.push(...piecesOf(context, text, task, agent, run, options.sinceMs));
    } catch (error) {
      throwIfExhausted(error); // That is no fault of the log, and meets them all.
      unread(agent, run, toMidwatchError(error).message);
    }
  }
  options.onStart?.(
    logs.length,
    pieces.reduce((sum, { from, to }) => sum + to - from, 0),
  );
  for await (const found of searchPieces(pieces, signal)) {
    const { agent, run } = pieces[found.piece] as (typeof pieces)[number];
    if ("fault" in found) {
      unread(agent, run, found.fault);
      continue;
    }
    const { hit } = found;
    if (options.sinceMs !== undefined && hit.timestamp !== null && Date.parse(hit.timestamp) < options.sinceMs)
      continue;
    yield { agent, run, ...hit, cursor: `${agent}.${run}@${hit.offset}` };
  }
  const [first] = unreadRuns;
  if (first === undefined || options.onUnread !== undefined) return;
  const names = [...unreadRuns.keys()].join(", ");
  throw new MidwatchError("CORRUPT_ARCHIVE", `Not searched to the end: ${names}. ${first[1]}`, {
    hint: "`midwatch verify ID` says how far each can be read; all that was found in the others was given.",
  });
}

function runsOf(context: Context, { task, agent }: SearchOptions): RunName[] {
  return withReader(context, (registry) => {
    const listed = registry.list({ all: true, ...(task === undefined ? {} : { task }) });
    const wanted = agent === undefined ? listed : listed.filter((entry) => entry.agent.id === agent);
    return wanted.flatMap((entry) =>
      registry.runsOf(entry.agent.id).map(({ run }) => ({ task: entry.agent.task, agent: entry.agent.id, run })),
    );
  });
}

/** A log cut at line starts into pieces that one worker takes at a time. */
function piecesOf(
  context: Context,
  text: string,
  task: TaskId,
  agent: AgentId,
  run: number,
  sinceMs: number | undefined,
) {
  const opened = openRun(context, { task, agent, run }, false);
  const pieces: (Piece & { agent: AgentId; run: number })[] = [];
  if (opened === undefined) return pieces;
  const { log, path, index } = opened;
  const all = logPlaces(context.layout, { task, agent, run, newest: true });
  const places = all.includes(path) ? all.slice(all.indexOf(path)) : [path];
  try {
    const secrets = readJson<SecretPrints>(context.layout.run(task, agent, run).secrets).value;
    const end = log.end(!hasEnded(readFacts(context.layout.run(task, agent, run))));
    for (let from = sinceMs === undefined ? 0 : log.atTime(sinceMs).offset; from < end; ) {
      const cut = log.index.before("offset", from + PIECE_BYTES, log.source).offset;
      const to = end - from <= PIECE_BYTES || cut <= from ? end : cut;
      pieces.push({ places, file: fileOf(log), index, text, from, to, agent, run, secrets });
      from = to;
    }
    return pieces;
  } finally {
    log.close();
  }
}
