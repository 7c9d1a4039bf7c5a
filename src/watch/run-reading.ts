/** What an agent is doing, as its stream tells it: for the judge, and for a person. It hears each line once. */
import type { Activity, TroubleActivity } from "../drivers/index.ts";
import { Judge } from "../judge/judge.ts";
import type { Thresholds } from "../judge/rules.ts";
import { ownWords } from "../judge/words.ts";
import type { StreamListener } from "../stream/stream-state.ts";

/** What an agent prints, as the name of a log. */
export const STREAM = "stream";

const RECENT_TOOLS = 5;
const TEXT_CHARS = 1000;
const TASK_WORDS = 600;
const KEYWORDS = 8;

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
  readonly #taskWords: ReadonlyMap<string, string>;
  /** Each word of the task with the line that it was last met in. */
  readonly #met = new Map<string, number>();
  readonly #tools: string[] = [];
  #activity: Activity | null = null;
  #text = "";
  #seq = 0;

  /** `task` is what it should do: its task and its prompt. */
  constructor(task: string, thresholds?: Thresholds) {
    this.judge = new Judge(task, thresholds);
    const words = [...new Set(ownWords(task.slice(0, TEXT_CHARS * 24)))].slice(0, TASK_WORDS);
    this.#taskWords = new Map(words.map((word) => [word, word]));
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

  readonly take: StreamListener = (activities, { seq }, atMs) => {
    this.#seq = seq ?? this.#seq;
    for (const activity of activities) {
      this.judge.add(activity, atMs, this.#seq);
      this.#remember(activity, this.#seq);
    }
  };

  /** What its stderr told since the last look. */
  hear(troubles: readonly TroubleActivity[]): void {
    for (const trouble of troubles) {
      this.judge.hear(trouble);
      this.#remember(trouble, this.#seq);
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
