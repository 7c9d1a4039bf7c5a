/**
 * A step is a tool's use with its result: the unit in which an agent gets on or does not. Joins the two by id, or by order where
 * a CLI gives none, and tells of each whether it failed and whether it brought anything that the run had not seen.
 */
import type { Activity } from "../drivers/index.ts";
import { Counters } from "./counters.ts";
import { inputText } from "./input-text.ts";
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
  call: number;
  result: number;
  failed: boolean;
  /** The shape of its error, null when it did not fail. */
  error: number | null;
  /** The line that names it, as it was printed. */
  errorText: string;
  /** Lines of its result that this run had not seen. */
  fresh: number;
  /** The call was made before and is answered otherwise now. */
  changed: boolean;
  /** How often before the same call had the same result. */
  again: number;
  /** It did something that it had not tried before: it writes, or says nothing, as commands do that only act. */
  wrote: boolean;
  /** It waits for something outside, so that the same answer is no wonder. */
  waits: boolean;
}

interface Call {
  id: string | null;
  seq: number;
  name: string;
  text: string;
}

const MOST_PENDING = 64;
const MOST_LINES_KEPT = 4096;
const MOST_CALLS_KEPT = 512;
const CALL_CHARS = 4096;
const ERROR_CHARS = 200;
/** Where a CLI says ok, only a short answer or the head of a long one is searched: a file may well speak of errors. */
const SHORT_ANSWER = 4;
const HEAD = 2;

const WRITING_TOOL = /edit|write|create|patch|replace|insert|append|save|fix/i;
const WRITING_COMMAND =
  /(?:^|[;&|(]\s*|\n\s*|: )(?:sed\s+-i|perl\s+-\w*i|tee|mv|cp|rm|mkdir|touch|ln|patch|chmod|git\s+(?:apply|commit|checkout|mv|rm|stash|reset|restore)|(?:pip3?|npm|pnpm|yarn|cargo|apt(?:-get)?|go)\s+(?:install|i|add|ci|get))\b|(?<![<>&\d=-])>{1,2}\s*(?!\/dev\/null)[\w"'$./~-]|\.write(?:_text|lines|_bytes)?\(|writeFile|fileinput/;
/** What looks and prints nothing has found nothing. */
const LOOKING_TOOL = /^(?:find|grep|glob|ls|list|read|view|open|search|fetch|query|get|cat|which)/i;
const LOOKING_COMMAND =
  /(?:^|[|;&]\s*|: )(?:find|e?grep|rg|ag|ls|cat|head|tail|which|whereis|locate|type|env|printenv|search\w*|git\s+(?:log|status|diff|show|grep|blame))\b|^\s*#/;
const WAITING_TOOL = /output$|^wait|write_stdin/i;
const WAITING_COMMAND = /\b(?:sleep|wait|watch|tail\s+-f)\b/;

const ERROR_LINE =
  /\berrors?\b|exception\b|traceback|\bfail(?:ed|ure|s)?\b|not found|no such|cannot|(?:could|did|does|was|were) ?n[o']t|unable to|\binvalid\b|denied|not permitted|not recognized|unknown (?:command|option|tool)|timed out|is required|already exists|no match|^usage:/i;
const NO_ERROR = /\b(?:no|0|#|without|zero) (?:errors?|fail)|successful/i;

export class Steps {
  readonly #pending: Call[] = [];
  readonly #lines = new Recent(MOST_LINES_KEPT);
  readonly #calls = new Recent(MOST_CALLS_KEPT);
  readonly #answers = new Recent(MOST_CALLS_KEPT);
  readonly #counters = new Counters();

  /** Tools that have not answered. */
  get pending(): number {
    return this.#pending.length;
  }

  /** The call as text. */
  use(activity: Extract<Activity, { kind: "tool" }>, seq: number): string {
    const text = bounded(inputText(activity.input), CALL_CHARS);
    this.#pending.push({ id: activity.id, seq, name: activity.name, text });
    if (this.#pending.length > MOST_PENDING) this.#pending.shift();
    return text;
  }

  /** Null when nobody asked for this result. */
  result(activity: Extract<Activity, { kind: "tool_result" }>, seq: number): Step | null {
    const at = activity.id === null ? 0 : this.#pending.findIndex(({ id }) => id === activity.id);
    const [used] = at < 0 ? [] : this.#pending.splice(at, 1);
    return used === undefined ? null : this.#step(used, activity, seq);
  }

  #step(used: Call, { ok, text }: { ok: boolean; text: string }, seq: number): Step {
    const lines = shapedLines(text);
    const error = errorLine(lines, ok);
    const call = hashOf(`${used.name}\n${used.text.replaceAll(/\s+/g, " ")}`);
    const tried = this.#calls.add(call);
    const shape = hashOf(lines.join("\n"));
    // Who fails, or writes the same once more, does not get on, whatever it counts.
    const polls = tried > 0 && error === null && !writes(used);
    const moved = polls && this.#counters.moved(hashOf(`${call} ${shape}`), text);
    const result = moved ? hashOf(text) : shape;
    const again = this.#answers.add(hashOf(`${call} ${result}`));
    const acts = writes(used) || (lines.length === 0 && !looks(used));
    return {
      seq: { from: used.seq, to: seq },
      text: `${used.name} ${used.text}`,
      call,
      result,
      failed: error !== null,
      error: error === null ? null : hashOf(error),
      errorText: error === null ? "" : asPrinted(text, error),
      fresh: this.#fresh(lines, used.text),
      changed: tried > 0 && again === 0,
      again,
      wrote: error === null && tried === 0 && acts,
      waits: WAITING_TOOL.test(used.name) || WAITING_COMMAND.test(used.text),
    };
  }

  /** What only repeats the call is nothing new. */
  #fresh(lines: readonly string[], call: string): number {
    const echo = new Set(shapedLines(call));
    let fresh = 0;
    for (const line of lines) {
      if (this.#lines.add(hashOf(line)) === 0 && !echo.has(line)) fresh++;
    }
    return fresh;
  }
}

/** The line as it was printed: with its numbers hidden a key in it would no longer look like one and could not be masked. */
function asPrinted(text: string, shape: string): string {
  const line = bounded(text)
    .split("\n")
    .find((printed) => shapeOf(printed).startsWith(shape));
  return (line ?? "").slice(0, ERROR_CHARS * 2);
}

function writes({ name, text }: Call): boolean {
  return WRITING_TOOL.test(name) || WRITING_COMMAND.test(text);
}

function looks({ name, text }: Call): boolean {
  return LOOKING_TOOL.test(name) || LOOKING_COMMAND.test(text);
}

/** The line that names the failure, or null when there is none. */
function errorLine(lines: readonly string[], ok: boolean): string | null {
  const names = (line: string): boolean => ERROR_LINE.test(line) && !NO_ERROR.test(line);
  if (!ok) return (lines.findLast(names) ?? lines.at(-1) ?? "").slice(0, ERROR_CHARS);
  const found = (lines.length <= SHORT_ANSWER ? lines : lines.slice(0, HEAD)).find(names);
  return found === undefined ? null : found.slice(0, ERROR_CHARS);
}
