/** Finding text in the logs of a workspace, live and archived. */
import { existsSync, statSync } from "node:fs";
import { MidwatchError, throwIfExhausted, toMidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { readFacts } from "../facts/facts.ts";
import { logPlaces } from "../facts/log-path.ts";
import { hasEnded } from "../facts/observe.ts";
import { hasLater } from "../facts/run-numbers.ts";
import { fileOf, type Piece } from "../log/piece.ts";
import type { Hit } from "../log/search.ts";
import { searchPieces } from "../log/search-pool.ts";
import type { FileIdentity } from "../log/source.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { RunLog } from "./run-log.ts";

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

/** A line that holds the text. */
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
  const pieces: PieceOf[] = [];
  const logs = runsOf(context, options);
  const unreadRuns = new Map<string, string>();
  const unread = (agent: AgentId, run: number, why: string): void => {
    if (!unreadRuns.has(`${agent}.${run}`)) options.onUnread?.(agent, run, why);
    unreadRuns.set(`${agent}.${run}`, why);
  };
  for (const of of logs) {
    try {
      pieces.push(...piecesOf(context, text, of, options.sinceMs));
    } catch (error) {
      throwIfExhausted(error); // That is no fault of the log, and meets them all.
      unread(of.agent, of.run, toMidwatchError(error).message);
    }
  }
  options.onStart?.(
    logs.length,
    pieces.reduce((sum, { from, to }) => sum + to - from, 0),
  );
  for await (const found of searchPieces(pieces, signal)) {
    const { agent, run } = pieces[found.piece] as PieceOf;
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

interface RunOf extends RunName {
  /** Its log has its last byte. What the registry says of an end stays true. */
  ended: boolean;
}

function runsOf(context: Context, { task, agent }: SearchOptions): RunOf[] {
  return withReader(context, (registry) => registry.runNames(task))
    .filter((one) => agent === undefined || one.agent === agent)
    .map(({ phase, ...name }) => ({ ...name, ended: isOver({ phase }) }));
}

type PieceOf = Piece & { agent: AgentId; run: number };

function piecesOf(context: Context, text: string, of: RunOf, sinceMs: number | undefined): PieceOf[] {
  const { layout } = context;
  const paths = layout.run(of.task, of.agent, of.run);
  const { secrets: path, sealed } = paths;
  const secrets = existsSync(path) || existsSync(sealed) ? { secrets: path, sealed } : undefined;
  const rest = { text, agent: of.agent, run: of.run, secrets };
  const places = logPlaces(layout, { ...of, newest: true });
  const plain = of.ended && sinceMs === undefined ? plainFile(context, of, places[0] as string) : undefined;
  if (plain === undefined) return cutPieces(context, of, places, rest, sinceMs);
  const index = [paths.archivedIndex, layout.agent(of.task, of.agent).index];
  return [{ ...rest, places, file: plain.file, index, from: 0, to: plain.size }];
}

/** Most logs are such: ended, in logs/ and of one piece. A look tells all there is to know, and nothing is opened for it. */
function plainFile(context: Context, of: RunOf, path: string): { file: FileIdentity; size: number } | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // Asked afterwards: the file at that name was this run's.
  if (!found?.isFile() || found.size > PIECE_BYTES || hasLater(context, of)) return undefined;
  const { dev, ino, birthtimeMs, size } = found;
  return { file: { dev, ino, birth_ms: birthtimeMs }, size };
}

/** A log cut at line starts into pieces that one worker takes at a time. */
function cutPieces(
  context: Context,
  of: RunOf,
  all: readonly string[],
  rest: Pick<PieceOf, "text" | "agent" | "run" | "secrets">,
  sinceMs: number | undefined,
): PieceOf[] {
  const ended = of.ended || hasEnded(readFacts(context.layout.run(of.task, of.agent, of.run)));
  using opened = new RunLog(context, { ...of, json: false });
  const log = opened.open(!ended);
  if (log === undefined || opened.path === undefined) return [];
  const { log: path, index } = opened.path;
  const places = all.includes(path) ? all.slice(all.indexOf(path)) : [path];
  const pieces: PieceOf[] = [];
  const end = log.end(!ended);
  for (let from = sinceMs === undefined ? 0 : log.atTime(sinceMs).offset; from < end; ) {
    const cut = log.index.before("offset", from + PIECE_BYTES, log.source).offset;
    const to = end - from <= PIECE_BYTES || cut <= from ? end : cut;
    pieces.push({ ...rest, places, file: fileOf(log), index: [index], from, to });
    from = to;
  }
  return pieces;
}
