/**
 * Whether the last words of a run ask a person something: a question that only a person can answer, or a request to choose, confirm or
 * provide. An offer of more work ("Would you like me to commit this too?") is none, because the work is done without an answer.
 * Where it is not sure it says no: a false call costs more than a question that is read late.
 */
import { cut, oneLine } from "./text/one-line.ts";

const TAIL_CHARS = 2000;
const QUESTION_CHARS = 240;
/** A suggestion may follow the question: "Which one do you prefer? I would take the first." */
const LAST_SENTENCES = 3;

const CODE = /```[\s\S]*?(?:```|$)/g;
const LIST_LINE = /^\s*(?:(?:[-*+•]|\d{1,2}[.)]|[A-Za-z][.)])\s|\|)/;

const PERSON = /\b(?:you|your|yours|I|me|my|we|us|our)\b/i;
/** What stands before other sentences is a question to the reader only when it says so; others answer themselves. */
const READER = /\b(?:you|your|yours|I)\b/i;
/** Short questions name nobody and are meant for the reader all the same: "Which approach?" */
const CHOICE = /^(?:which|what|where|who|how|when|should|shall|may|can|could|do|does|is|are|ready to|ok(?:ay)? to)\b/i;
const OFFER =
  /^(?:or )?would you like to\b|\bmakes? (?:any )?sense\b|^do(?:es)? (?:this|that) help\b|\b(?:would you like|do you want|did you want|want|need|like)\s+(?:me|us)\s+to\b|\bwant to\b|\banything else\b|\bany (?:other|further|more|additional)\b|\b(?:can|may|shall|should|could) I (?:also|help|assist)\b|\bhow (?:can|may) I (?:help|assist)\b|\bwhat(?:'s| is| would you like (?:me )?to (?:do|work on)) next\b/i;
/** An offer is a question after all when the work waits for the answer. */
const WAITS = /\b(?:proceed|go ahead|approve|before I)\b/i;
const REQUEST =
  /\b(?:please|kindly)\s+(?:also\s+)?(?:tell|let me know|confirm|choose|pick|select|specify|provide|share|paste|supply|answer|decide|advise|clarify|reply|respond|say|send|give me)\b|\b(?:let me know|tell me)\s+(?:which|what|whether|where|when|how|who|your)\b|\bI(?:'ll| will)? need (?:you to|your|to know|one of|the following)\b|\b(?:wait(?:ing)?|hold(?:ing)?) (?:for|on) your (?:answer|approval|confirmation|decision|go-ahead|input|reply|choice)\b/i;
/** What a person may do some day, or what a program tells its users. */
const OPTIONAL = /\b(?:if you(?:'d| would| want| need| have| like| prefer)|feel free|in case you|when(?:ever)? you)\b/i;

/** The question, in one line and bounded; null when the text asks nothing. */
export function questionIn(text: string | null): string | null {
  const sentences = lastSentences(text ?? "");
  const asking = sentences.filter((sentence) => asks(sentence, sentence === sentences.at(-1) ? PERSON : READER));
  if (asking.length === 0) return null;
  return cut(asking.join(" "), QUESTION_CHARS);
}

function asks(sentence: string, whom: RegExp): boolean {
  if (!sentence.endsWith("?")) return REQUEST.test(sentence) && !OPTIONAL.test(sentence);
  if (OFFER.test(sentence) && !WAITS.test(sentence)) return false;
  return whom.test(sentence) || (whom === PERSON && CHOICE.test(sentence));
}

/** The last sentences of the last paragraph that is prose; a list of choices at the end belongs to the words before it. */
function lastSentences(text: string): string[] {
  const plain = text.slice(-TAIL_CHARS).replaceAll(CODE, "\n\n");
  const paragraphs = plain
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.split("\n").filter((line) => line.trim() !== "" && !LIST_LINE.test(line)))
    .filter((lines) => lines.length > 0);
  const prose = (paragraphs.at(-1) ?? []).join("\n").replaceAll(/[*_`#>]+/g, "");
  return prose
    .split(/(?<=[.?!…:])["')\]]*\s+|\n/)
    .map((sentence) => oneLine(sentence.replace(/["')\]\s]+$/, "")))
    .filter((sentence) => sentence !== "")
    .slice(-LAST_SENTENCES);
}
