/**
 * New lines of a log in few words, for a model: what the agent said, called and was answered, each with the number of its line. A model is
 * given nothing else of a log, so what it quotes can be looked for in here.
 */
import type { Masker } from "../../core/mask/mask.ts";
import type { Activity } from "../../drivers/index.ts";

export interface DigestLine {
  /** The line of the log. */
  line: number;
  text: string;
}

const ENTRY_CHARS = 400;
/** Of one text: nobody needs megabytes of a tool's answer. */
const TEXT_CHARS = 300_000;
/** A line of a key, or of nothing that a model could read. Where a key is begun or ended by lines that are not given, this hides it. */
const BLOB = /[A-Za-z0-9+/=]{64,}/g;

export type Mask = Pick<Masker, "text" | "value">;

/** What one thing was told in: pieces of a message, lines of plain text, or a single part. */
interface DigestEntry {
  label: string;
  parts: { line: number; text: string }[];
  /** Of a tool, which is masked by its keys too. */
  input?: unknown;
}

/** Collects activities in order; `json`: a CLI prints messages, and perhaps in pieces. Otherwise each line is one of plain text. */
export class Digest {
  readonly #entries: DigestEntry[] = [];
  readonly #json: boolean;

  constructor(json: boolean) {
    this.#json = json;
  }

  add(activity: Activity, line: number): void {
    const told = tell(activity);
    if (told === undefined) return;
    const { label, text, input } = told;
    const last = this.#entries.at(-1);
    const part = { line, text: text.slice(0, TEXT_CHARS + 1) };
    if (last?.label === label && (label === "says" || label === "thinks")) last.parts.push(part);
    else this.#entries.push({ label, parts: [part], input });
  }

  /** The newest lines that fit, oldest first. */
  lines(mask: Mask, mostBytes: number): DigestLine[] {
    const kept: DigestLine[] = [];
    let left = mostBytes;
    for (const entry of this.#entries.toReversed()) {
      for (const { line, text } of this.#texts(entry, mask).toReversed()) {
        const made = { line, text: `${entry.label}: ${text}` };
        left -= Buffer.byteLength(shown(made)) + 1;
        if (left < 0) return kept.reverse();
        kept.push(made);
      }
    }
    return kept.reverse();
  }

  /** Masked as a whole first, so that a secret in two pieces or over several lines is seen; then cut. */
  #texts({ parts, input }: DigestEntry, mask: Mask): DigestLine[] {
    const line = parts[0]?.line ?? 0;
    const hidden = (text: string): string => mask.text(text).replaceAll(BLOB, "[...]");
    if (input !== undefined) return [{ line, text: short(hidden(JSON.stringify(mask.value(input)) ?? "")) }];
    const joiner = this.#json ? "" : "\n";
    const whole = parts.map(({ text }) => text).join(joiner);
    const masked = hidden(whole.slice(0, TEXT_CHARS));
    const each = parts.map((part) => ({ line: part.line, text: hidden(part.text) }));
    if (!this.#json && masked === each.map(({ text }) => text).join(joiner))
      return each.map((part) => ({ line: part.line, text: short(part.text) }));
    // Where it was cut may be in the middle of a secret, so that end is not shown.
    return [{ line, text: short(whole.length > TEXT_CHARS ? masked.slice(0, ENTRY_CHARS) : masked) }];
  }
}

function short(text: string): string {
  return bothEnds(text, ENTRY_CHARS);
}

/** As the model sees it. */
export function shown({ line, text }: DigestLine): string {
  return `L${line} ${text}`;
}

/** In one line, the beginning and the end of what is long: errors stand at the end. */
export function bothEnds(text: string, most: number): string {
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
