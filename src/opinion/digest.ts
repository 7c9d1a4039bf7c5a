/**
 * New lines of a log in few words, for a model: what the agent said, called and was answered, each with the number of its line. A model is
 * given nothing else of a log, so what it quotes can be looked for in here.
 */
import type { Masker } from "../core/mask.ts";
import type { Activity } from "../drivers/index.ts";

export interface DigestLine {
  /** The line of the log. */
  line: number;
  text: string;
}

const ENTRY_CHARS = 400;
/** Of one text: nobody needs megabytes of a tool's answer. */
const TEXT_CHARS = 100_000;

export type Mask = Pick<Masker, "text" | "value">;

interface Entry {
  line: number;
  label: string;
  text: string;
  /** Of a tool's input, which is masked by its keys too. */
  input?: unknown;
  /** There was more: where it was cut may be in the middle of a secret, so its end is not shown. */
  cut: boolean;
}

/** Collects activities in order. Pieces of one message become one text before it is masked, so that a secret in two pieces is seen. */
export class Digest {
  readonly #entries: Entry[] = [];

  add(activity: Activity, line: number): void {
    const told = tell(activity);
    if (told === undefined) return;
    const { label, text, input } = told;
    const last = this.#entries.at(-1);
    if (last?.label !== label || !PIECES.includes(label)) {
      this.#entries.push({ line, label, text: text.slice(0, TEXT_CHARS), input, cut: text.length > TEXT_CHARS });
    } else if (!last.cut) {
      last.cut = last.text.length + text.length > TEXT_CHARS;
      last.text = (last.text + text).slice(0, TEXT_CHARS);
    }
  }

  /** The newest lines that fit, oldest first. */
  lines(mask: Mask, mostBytes: number): DigestLine[] {
    const kept: DigestLine[] = [];
    let left = mostBytes;
    for (const { line, label, text, input, cut } of this.#entries.toReversed()) {
      const masked = mask.text(input === undefined ? text : (JSON.stringify(mask.value(input)) ?? ""));
      const made = { line, text: `${label}: ${oneLine(cut ? masked.slice(0, ENTRY_CHARS) : masked, ENTRY_CHARS)}` };
      left -= Buffer.byteLength(shown(made)) + 1;
      if (left < 0) break;
      kept.push(made);
    }
    return kept.reverse();
  }
}

/** Some CLIs print them piece by piece. */
const PIECES: readonly string[] = ["says", "thinks"];

/** As the model sees it. */
export function shown({ line, text }: DigestLine): string {
  return `L${line} ${text}`;
}

/** The beginning and the end of what is long: errors stand at the end. */
export function oneLine(text: string, most: number): string {
  const flat = text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (flat.length <= most) return flat;
  const half = Math.floor((most - 3) / 2);
  return `${flat.slice(0, half)} … ${flat.slice(-half)}`;
}

function tell(activity: Activity): { label: string; text: string; input?: unknown } | undefined {
  switch (activity.kind) {
    case "said":
      return { label: "says", text: activity.text };
    case "thought":
      return { label: "thinks", text: activity.text };
    case "tool":
      return { label: `uses ${activity.name.slice(0, 60)}`, text: "", input: activity.input ?? "" };
    case "tool_result":
      return { label: activity.ok ? "is answered" : "is answered with an error", text: activity.text };
    case "permission":
      return {
        label: activity.denied ? "was not permitted to use" : "asks to be permitted to use",
        text: activity.tool,
      };
    case "trouble":
      return { label: "has trouble with its model", text: activity.text };
    case "finished":
      return { label: activity.ok ? "finished" : "gave up", text: activity.text ?? activity.why ?? "" };
    case "unparsed":
      return { label: "prints", text: activity.text };
    case "started":
    case "usage":
    case "note":
      return undefined;
  }
}
