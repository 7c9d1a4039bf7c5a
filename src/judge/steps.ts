/**
 * A step is a tool's use with its result: the unit in which an agent gets on or does not. Joins the two by id, or by order where
 * a CLI gives none, and tells of each whether it failed and whether it brought anything that the run had not seen.
 */
import type { Activity } from "../drivers/index.ts";
import { Counters, steady } from "./counters.ts";
import { failureOf, isEmpty, wasTried } from "./failure.ts";
import { inputText } from "./input-text.ts";
import { commandIn, editOf, intentOf } from "./intent.ts";
import { bounded, hashOf, Recent, shapedLines, shapeOf } from "./shape.ts";

/** Lines of the log, both ends included. */
export interface LineRange {
  from: number;
  to: number;
}

export interface Step {
  seq: LineRange;
  /** The call as text, cut. */
  text: string;
  /** What it is meant to do. */
  call: number;
  result: number;
  /** What it was answered, with its numbers; null when it says nothing or only that a change was made. */
  answer: number | null;
  /** The file and the two texts that an edit exchanges, either way; else the whole of what it writes. */
  edit: number | null;
  /**
   * It failed at something that it wanted to do, and that showed next to nothing new. A look that finds nothing has not failed, nor
   * has a test that failed so before anything was changed.
   */
  failed: boolean;
  /** The shape of its error, null when there is none. */
  error: number | null;
  /** The line that names it, as it was printed. */
  errorText: string;
  /** The tool or program that it wanted to use is not there. */
  gone: boolean;
  /** Lines of its result that this run had not seen. */
  fresh: number;
  /** The call was made before and is answered otherwise now. */
  changed: boolean;
  /** How often before the same call had the same result. */
  again: number;
  /** It did something that it had not tried before: it writes, or says nothing, as commands do that only act. */
  wrote: boolean;
  /** It looked for something and there is nothing. */
  empty: boolean;
  /** It waits for something outside, so that the same answer is no wonder. */
  waits: boolean;
}

interface Call {
  id: string | null;
  seq: number;
  name: string;
  text: string;
  intent: number;
  /** It is run by a shell. */
  command: boolean;
  edit: number | null;
}

const MOST_PENDING = 64;
const MOST_LINES_KEPT = 4096;
const MOST_LINES_READ = 400;
const WORD = /[\p{L}\p{N}]/u;
const MOST_CALLS_KEPT = 512;
const CALL_CHARS = 4096;
const MOST_FAILURES_KEPT = 64;
const ERROR_CHARS = 400;
/** An error that says no more than this tells little. */
const FEW_LINES = 2;
const WRITING_TOOL = /edit|write|create|update|patch|replace|insert|append|save|fix/i;
const WRITING_COMMAND =
  /(?:^|[;&|(]\s*|\n\s*|: )(?:sed\s+-i|perl\s+-\w*i|tee|mv|cp|rm|mkdir|touch|ln|patch|chmod|git\s+(?:apply|commit|checkout|mv|rm|stash|reset|restore)|(?:pip3?|npm|pnpm|yarn|cargo|apt(?:-get)?|go)\s+(?:install|i|add|ci|get))\b|(?<![<>&\d=-])>{1,2}\s*(?!\/dev\/null)[\w"'$./~-]|\.write(?:_text|lines|_bytes)?\(|writeFile|fileinput/;
/** What looks and prints nothing has found nothing. */
const LOOKING_TOOL = /^(?:find|grep|glob|ls|list|read|view|open|search|fetch|query|get|cat|which)/i;
const LOOKING_COMMAND =
  /(?:^|[|;&]\s*|: )(?:find|e?grep|rg|ag|ls|cat|head|tail|which|whereis|locate|type|env|printenv|search\w*|git\s+(?:log|status|diff|show|grep|blame))\b|^\s*#/;
const WAITING_TOOL = /output$|^wait|write_stdin/i;
const WAITING_COMMAND = /\b(?:sleep|wait|watch|tail\s+-f)\b/;

export class Steps {
  readonly #pending: Call[] = [];
  #seen = new Seen();

  /** Tools that have not answered. */
  get pending(): number {
    return this.#pending.length;
  }

  /** What comes now is another task: what was tried and seen before is none of it. */
  forget(): void {
    this.#seen = new Seen();
  }

  /** The call as text. */
  use(activity: Extract<Activity, { kind: "tool" }>, seq: number): string {
    const { id, name, input } = activity;
    const text = bounded(inputText(input), CALL_CHARS);
    const command = commandIn(input);
    const writing = command === undefined && WRITING_TOOL.test(name);
    const intent = hashOf(`${name}\n${command === undefined ? text : intentOf(bounded(command, CALL_CHARS))}`);
    const edit = editOf(input) ?? (writing ? intent : null);
    this.#pending.push({ id, seq, name, text, intent, command: command !== undefined, edit });
    if (this.#pending.length > MOST_PENDING) this.#pending.shift();
    return text;
  }

  /** Null when nobody asked for this result, or nothing was tried. */
  result(activity: Extract<Activity, { kind: "tool_result" }>, seq: number): Step | null {
    const at = activity.id === null ? 0 : this.#pending.findIndex(({ id }) => id === activity.id);
    const [used] = at < 0 ? [] : this.#pending.splice(at, 1);
    return used === undefined || !wasTried(activity) ? null : this.#step(used, activity, seq);
  }

  #step(used: Call, { ok, text }: { ok: boolean; text: string }, seq: number): Step {
    const seen = this.#seen;
    const lines = shapedLines(text);
    const [looking, writing] = [looks(used), writes(used)];
    const asks = looking || used.command;
    const failure = failureOf({ ok, text, lines, looks: looking, call: used.text });
    const error = failure === null ? null : hashOf(failure.shape);
    const known = failure !== null && seen.knows(failure.parts.map(hashOf));
    const tried = seen.calls.add(used.intent);
    const shape = hashOf(lines.join("\n"));
    // Who fails, or writes the same once more, does not get on, whatever it counts.
    const polls = tried > 0 && failure === null && !writing;
    const moved = polls && seen.counters.moved(hashOf(`${used.intent} ${shape}`), text);
    const result = moved ? hashOf(text) : shape;
    const again = seen.answers.add(hashOf(`${used.intent} ${result}`));
    const empty = looking && isEmpty(lines);
    const content = steady(text);
    const fresh = seen.fresh(content, used.text);
    const wrote = failure === null && tried === 0 && (writing || (lines.length === 0 && !looking));
    seen.changed ||= wrote;
    return {
      seq: { from: used.seq, to: seq },
      text: `${used.name} ${used.text}`,
      call: used.intent,
      result,
      answer: (failure === null && (writing || !asks)) || isEmpty(lines) ? null : hashOf(content),
      edit: used.edit,
      failed: failure !== null && !known && (failure.gone || !looking) && fresh <= FEW_LINES,
      error: known ? null : error,
      errorText: failure?.line.slice(0, ERROR_CHARS) ?? "",
      gone: failure?.gone ?? false,
      fresh,
      changed: tried > 0 && again === 0,
      again,
      wrote,
      empty,
      waits: WAITING_TOOL.test(used.name) || WAITING_COMMAND.test(used.text),
    };
  }
}

/** What a task has tried and seen, the newest of it. */
class Seen {
  readonly calls = new Recent(MOST_CALLS_KEPT);
  readonly answers = new Recent(MOST_CALLS_KEPT);
  readonly counters = new Counters();
  readonly #lines = new Recent(MOST_LINES_KEPT);
  readonly #failures = new Set<number>();
  /** Something was changed. */
  changed = false;

  /** Whether all of it failed so before anything was changed: such a failure is nobody's mistake. */
  knows(parts: readonly number[]): boolean {
    if (this.changed) return parts.every((part) => this.#failures.has(part));
    if (this.#failures.size < MOST_FAILURES_KEPT) for (const part of parts) this.#failures.add(part);
    return false;
  }

  /** Lines that were not seen, with their numbers. What only repeats the call is nothing new. */
  fresh(content: string, call: string): number {
    const echo = new Set(shapedLines(call));
    let fresh = 0;
    for (const line of content.split("\n").slice(0, MOST_LINES_READ)) {
      const said = line.trim();
      if (WORD.test(said) && this.#lines.add(hashOf(said)) === 0 && !echo.has(shapeOf(said))) fresh++;
    }
    return fresh;
  }
}

function writes({ name, text }: Call): boolean {
  return WRITING_TOOL.test(name) || WRITING_COMMAND.test(text);
}

function looks({ name, text }: Call): boolean {
  return LOOKING_TOOL.test(name.replace(/^mcp__.*__/, "")) || LOOKING_COMMAND.test(text);
}
