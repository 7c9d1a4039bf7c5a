/**
 * Whether an answer is a failure, and which. The CLI's own word counts first. Where it says ok, only a short answer that is an error
 * message from its first word on is one: a file, a page or the JSON of an API may well speak of errors.
 */
import { steady } from "./counters.ts";
import { bounded, shapeOf } from "./shape.ts";

export interface Failure {
  /** What names it: the line of an error with its numbers hidden, or all that tests said when they failed, since another failure is another answer. */
  shape: string;
  /** The line as it was printed. */
  line: string;
  /** What it consists of, without what passed and how long it took: when all of it is known, the failure is. */
  parts: readonly string[];
  /** The tool or program itself is not there. */
  gone: boolean;
}

export interface Answer {
  ok: boolean;
  text: string;
  /** Its lines with numbers hidden. */
  lines: readonly string[];
  /** The call only looks, so that what it shows is not about itself. */
  looks: boolean;
  /** The call as text. */
  call: string;
}

const ERROR_CHARS = 200;
/** Of a line that is searched with a pattern that looks back. */
const LINE_CHARS = 1000;
/** An error that a CLI takes for a good answer is short; of a longer one only the first lines are searched. */
const SHORT_CHARS = 600;
const HEAD = 2;

const NAMES_ERROR =
  /\berrors?\b|exception\b|traceback|\bfail(?:ed|ure|s)?\b|not found|no such|cannot|(?:could|did|does|was|were) ?n[o']t|unable to|\binvalid\b|denied|not permitted|not recognized|unknown (?:command|option|tool)|timed out|is required|already exists|no match|^usage:/i;
const NO_ERROR = /\b(?:no|0|#|without|zero) (?:errors?|fail)|successful/i;
/** It begins as messages of errors do. */
const ERROR_BEGINS =
  /^\W*(?:error|fatal|panic|exception|traceback|usage:|unknown|no such|not found|cannot|could not|unable to|permission denied|invalid|failed|failure|[\w.]+(?:Error|Exception):)/i;
/** A program says its name, or a shell does, before what is wrong. */
const PROGRAM_SAYS = /^(?:-?(?<program>[\w./+-]+): )/;
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/;
const TRACE = /traceback/i;
const TEST_FAILS =
  /^\s*(?:--- FAIL|FAIL(?:ED)?\b|[✗✕×✖]\s|not ok\b|E {2,}\S|error(?:\[\w+\])?:|panic:|thread '.*' panicked)|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?)\b/;
const PASSED = /\d+ (?:tests? )?(?:passed|passing|ok|skipped|deselected|warnings?|total)\b/gi;
/** So many lines say how a test failed. */
const FAIL_LINES = 8;
const GONE =
  /command not found|(?:line |sh: )[#\d]+: .*: not found$|\bENOENT\b.*spawn|spawn.*\bENOENT\b|executable file not found|no such tool|unknown tool|is not recognized as an internal or external command|\btool\b.*\b(?:not found|does not exist|is not available|no longer available)/i;
const EXIT_WORD = /^(?:<\w+>)?(?:exit(?: code|ed with)?|error:? exit(?:ed)?)[^\p{L}]*$/iu;
/** What the harness says of a call that was not made: nothing was tried. */
const NOT_TRIED = /sibling tool call errored|doesn't want to (?:proceed|take this action)|request interrupted by user/i;
/** A search that found nothing has answered. */
const NOTHING =
  /^(?:\(?no (?:output|content|files?|match(?:es)?|results?)(?: (?:were )?found)?\)?|(?:file|nothing) not found|nothing found|found # .*|null|none|#)\.?$/i;

export function wasTried({ ok, text }: Pick<Answer, "ok" | "text">): boolean {
  return ok || !NOT_TRIED.test(text.slice(0, SHORT_CHARS));
}

/** Nothing but that there is nothing; an exit code beside it says no more. */
export function isEmpty(lines: readonly string[]): boolean {
  return lines.every((line) => EXIT_WORD.test(line) || NOTHING.test(line));
}

export function failureOf(answer: Answer): Failure | null {
  const { ok, lines, looks, text } = answer;
  if (looks && isEmpty(lines)) return null;
  const named = ok ? messageIn(answer) : (lines.findLast(namesError) ?? lines.at(-1) ?? "");
  if (named !== null && GONE.test(named.slice(0, LINE_CHARS))) return { ...asPrinted(named, text), gone: true };
  const failed = looks ? [] : failedTests(text);
  if (failed.length > 0) {
    const parts = failed.map((line) => steady(line.replaceAll(PASSED, "")));
    return { shape: steady(bounded(text).replaceAll(PASSED, "")), line: failed[0] ?? "", parts, gone: false };
  }
  return named === null ? null : { ...asPrinted(named, text), gone: false };
}

function failedTests(text: string): string[] {
  const lines = bounded(text).split("\n");
  return lines.filter((line) => TEST_FAILS.test(line) && !NO_ERROR.test(line)).slice(0, FAIL_LINES);
}

/** The line as it was printed: with its numbers hidden a key in it would no longer look like one and could not be masked. */
function asPrinted(named: string, text: string): Omit<Failure, "gone"> {
  const shape = named.slice(0, ERROR_CHARS);
  const line = bounded(text)
    .split("\n")
    .find((printed) => shapeOf(printed).startsWith(shape));
  return { shape, line: line ?? "", parts: [shape] };
}

/** The error message that an answer is though the CLI calls it good. */
function messageIn({ text, lines, looks, call }: Answer): string | null {
  if (/^\s*[[{]/.test(text)) return null;
  const searched = text.length <= SHORT_CHARS ? lines : lines.slice(0, HEAD);
  const message = (line: string): boolean => {
    if (!namesError(line)) return false;
    const program = PROGRAM_SAYS.exec(line)?.groups?.["program"];
    if (program !== undefined && (SHELL.test(program) || (program.length > 1 && call.includes(program)))) return true;
    return !looks && ERROR_BEGINS.test(line);
  };
  const found = searched.find(message);
  // What a traceback is about stands at its end.
  return found === undefined ? null : TRACE.test(found) ? (lines.findLast(namesError) ?? found) : found;
}

function namesError(line: string): boolean {
  return NAMES_ERROR.test(line) && !NO_ERROR.test(line);
}
