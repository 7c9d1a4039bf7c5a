/**
 * One run's log read on from where the last look ended: lines to activities to what the judge knows. All of it is made from the log
 * up to the cursor and kept in memory only. After a restart the lines before the cursor are read once more, at most the last 32 MiB of
 * them, before new ones are: so nothing but the cursor has to be stored, and a reader that is killed anywhere loses nothing.
 */
import type { AgentId } from "../core/ids.ts";
import { iso, parseRfc3339 } from "../core/time.ts";
import type { Tokens } from "../core/types.ts";
import type { Activity, Driver, SessionUse, StreamReader, StreamResult, TroubleActivity } from "../drivers/index.ts";
import { Judge } from "../judge/judge.ts";
import type { Thresholds } from "../judge/rules.ts";
import { ownWords } from "../judge/words.ts";
import { lineStartFrom } from "../log/lines.ts";
import type { Log, Place } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import type { CursorRow } from "../registry/registry.ts";
import { lineSum } from "./file-reader.ts";

/** What an agent prints, as the name of a log. */
export const STREAM = "stream";

const AGAIN_BYTES = 32 << 20;
const RECENT_TOOLS = 5;
const TEXT_CHARS = 1000;
const TASK_WORDS = 600;
const KEYWORDS = 8;

export interface ReadingOf {
  agent: AgentId;
  run: number;
  driver: Driver;
  /** What it should do: its task and its prompt. */
  task: string;
  /** What its CLI had counted for the session that it resumes. */
  before: SessionUse | null;
  thresholds?: Thresholds;
}

/** What an agent did last. */
export interface Recent {
  tools: readonly string[];
  activity: Activity | null;
  /** The last thing it said or that a tool answered. */
  text: string;
  /** Words of its task in what it said and called lately. */
  keywords: string[];
}

export class RunReading {
  readonly judge: Judge;
  readonly #of: ReadingOf;
  readonly #reader: StreamReader;
  readonly #taskWords: ReadonlyMap<string, string>;
  /** Each word of the task with the line that it was last met in. */
  readonly #met = new Map<string, number>();
  readonly #tools: string[] = [];
  #activity: Activity | null = null;
  #text = "";
  #cursor: CursorRow;
  /** Counted before the part that was read again; only of a log that is longer than that. */
  #counted: { tokens: Tokens | null; cost_usd: number | null } | null = null;

  constructor(of: ReadingOf) {
    this.#of = of;
    this.#reader = of.driver.reader(of.before);
    this.judge = new Judge(of.task, of.thresholds);
    const words = [...new Set(ownWords(of.task.slice(0, TEXT_CHARS * 24)))].slice(0, TASK_WORDS);
    this.#taskWords = new Map(words.map((word) => [word, word]));
    const zero = { offset: 0, line: 0, checksum: 0, generation: 1, missed_bytes: 0 };
    this.#cursor = { agent: of.agent, log: STREAM, run: of.run, ...zero, file: null, updated_at: iso() };
  }

  get cursor(): CursorRow {
    return this.#cursor;
  }

  get recent(): Recent {
    const keywords = [...this.#met].sort(([, a], [, b]) => b - a).slice(0, KEYWORDS);
    return {
      tools: this.#tools,
      activity: this.#activity,
      text: this.#text,
      keywords: keywords.map(([word]) => word),
    };
  }

  get result(): StreamResult {
    const result = this.#reader.result();
    if (this.#counted === null) return result;
    // Of a run that was taken up in mid-stream the greater count is nearer: its end is counted from the whole stream.
    const more = total(this.#counted.tokens) > total(result.tokens) ? this.#counted : result;
    return { ...result, tokens: more.tokens, cost_usd: more.cost_usd ?? result.cost_usd };
  }

  /** Takes up where another process stopped: what lies before the place is read for what it says, not counted again. */
  takeUp(log: Log, cursor: CursorRow, counted: { tokens: Tokens | null; cost_usd: number | null }): void {
    const end = Math.min(cursor.offset, log.source.size());
    const from = end > AGAIN_BYTES ? lineStartFrom(log.source, end - AGAIN_BYTES, end) : 0;
    const place: Place = { offset: from, line: from === 0 ? 0 : log.lineAt(from) };
    for (const { record } of log.records(place, end)) if (record !== undefined) this.#take(record);
    if (from > 0) this.#counted = counted;
    this.#cursor = cursor;
  }

  /** At most `bytes`, but a whole line in any case; of a living run whole lines only. True when there is more. */
  read(log: Log, live: boolean, bytes: number): boolean {
    const end = log.end(live);
    const start = this.#cursor;
    if (end < start.offset) {
      // Nobody cuts a run's log but by hand. What is left was read already.
      const missed = Math.max(0, end - log.end(true));
      this.#cursor = { ...start, offset: end, checksum: 0, generation: start.generation + 1, missed_bytes: missed };
      return false;
    }
    let { offset, line, checksum } = start;
    for (const { record, raw } of log.records({ offset, line }, end)) {
      if (offset > start.offset && raw.end - start.offset > bytes) {
        this.#move(offset, line, checksum);
        return true;
      }
      line++;
      checksum = lineSum(checksum, raw);
      offset = raw.end;
      if (record !== undefined) this.#take(record);
    }
    if (offset > start.offset) this.#move(offset, line, checksum);
    return false;
  }

  /** What its stderr told since the last look. */
  hear(troubles: readonly TroubleActivity[]): void {
    for (const trouble of troubles) {
      this.judge.hear(trouble);
      this.#remember(trouble, this.#cursor.line);
    }
  }

  #move(offset: number, line: number, checksum: number): void {
    this.#cursor = { ...this.#cursor, offset, line, checksum, updated_at: iso() };
  }

  #take(record: LogRecord): void {
    if (record.type === "lifecycle") return;
    const { driver } = this.#of;
    const text = record.text ?? record.raw_content ?? record.b64 ?? "";
    const line = record.data === undefined ? text : driver.json ? record.data : JSON.stringify(record.data);
    const atMs = record.timestamp ? (parseRfc3339(record.timestamp) ?? null) : null;
    const seq = record.seq ?? this.#cursor.line;
    for (const activity of this.#reader.read(line, atMs)) {
      this.judge.add(activity, atMs, seq);
      this.#remember(activity, seq);
    }
  }

  #remember(activity: Activity, seq: number): void {
    switch (activity.kind) {
      case "tool": {
        const input = (JSON.stringify(activity.input) ?? "").slice(0, TEXT_CHARS);
        this.#tools.push(activity.name);
        if (this.#tools.length > RECENT_TOOLS) this.#tools.shift();
        this.#meet(`${input} ${activity.paths.slice(0, RECENT_TOOLS).join(" ")}`, seq);
        this.#activity = { ...activity, input: own(input), paths: [] };
        break;
      }
      case "said":
        this.#text = own(activity.text.slice(-TEXT_CHARS));
        this.#meet(activity.text, seq);
        this.#activity = { ...activity, text: own(activity.text.slice(0, TEXT_CHARS)) };
        break;
      case "tool_result":
        if (activity.text.trim() !== "") this.#text = own(activity.text.slice(-TEXT_CHARS));
        this.#activity = { ...activity, text: "" };
        break;
      case "thought":
      case "trouble":
        this.#activity = { ...activity, text: own(activity.text.slice(0, TEXT_CHARS)) };
        break;
      case "permission":
      case "finished":
      case "started":
        this.#activity = activity;
        break;
      case "usage":
      case "note":
      case "unparsed":
        break; // They do not say what it does.
    }
  }

  #meet(text: string, seq: number): void {
    if (this.#taskWords.size === 0) return;
    for (const word of ownWords(text.slice(0, TEXT_CHARS))) {
      const known = this.#taskWords.get(word);
      if (known !== undefined) this.#met.set(known, seq);
    }
  }
}

/** A copy: a cut piece of a text keeps the whole text in memory. */
function own(text: string): string {
  return Buffer.from(text).toString();
}

function total(tokens: Tokens | null): number {
  return tokens === null ? 0 : tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}
