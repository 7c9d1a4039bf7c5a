/**
 * Every rule of the judge in one table: from which value it is worth a look (`watch`) and from which it is told (`alert`), where
 * the figure comes from, and how often the rule was right when it fired on labelled runs (docs/watch.md tells how that was
 * measured). A rule's precision is the confidence of the verdict that rests on it.
 */
import type { Verdict } from "../core/types.ts";

export type RuleName =
  | "never_started"
  | "trouble"
  | "failed"
  | "held"
  | "no_first_output"
  | "model_silent"
  | "tool_silent"
  | "permission_wait"
  | "denied"
  | "repeat"
  | "cycle"
  | "again"
  | "retry"
  | "same_edit"
  | "same_answer"
  | "gone"
  | "same_error"
  | "no_news"
  | "same_words"
  | "off_task"
  | "unproven"
  | "flood";

export interface Rule {
  /** What the value counts. */
  about: string;
  /** What is said of the agent while the rule stands at `alert`, and at `watch`. */
  verdict: Verdict;
  watched: Verdict;
  watch: number;
  /** Infinity: never more than a look. */
  alert: number;
  /** The value cannot become greater: a threshold above it would switch the rule off without saying so. */
  most?: number;
  /** What a person can do about it. */
  action: string;
  source: string;
  /** Told by the run itself, its CLI or its processes; the others read behaviour, and a model may have a say in them. */
  fact: boolean;
  precision: { watch: Share; alert: Share };
}

/** How often it was right, of so many labelled runs on which it fired; of none: assumed. */
export interface Share {
  right: number;
  of: number;
}

/** Never certain, however few the cases: as if one more had been right and one more wrong. */
export function confidence({ right, of }: Share): number {
  return of === 0 ? right : Math.round(((right + 1) / (of + 2)) * 100) / 100;
}

/** No set of labelled runs shows these: assumed, and to be replaced by what the field tells. */
const ASSUMED = { watch: { right: 0.5, of: 0 }, alert: { right: 0.9, of: 0 } };
/** Not told from behaviour. */
const KNOWN = { watch: { right: 0.95, of: 0 }, alert: { right: 0.95, of: 0 } };
/** A look closer does not yet say anything else of the agent. */
const STUCK = { verdict: "blocked", watched: "on_track", fact: false } as const;
const SILENT = { verdict: "blocked", watched: "unknown", fact: true, precision: ASSUMED } as const;
/** A fact of the run itself, which is so or is not. */
const FACT = { ...SILENT, watch: 1, alert: 1, most: 1, precision: KNOWN };

/** In the order in which they decide: what the harness knows comes before what behaviour suggests. */
export const RULES: Readonly<Record<RuleName, Rule>> = {
  never_started: {
    about: "the run could not be started",
    ...FACT,
    action: "Look at why it could not be started, then restart it.",
    source: "a fact of the run; 162 of 332 terminal-bench runs had no step",
  },
  trouble: {
    about:
      "API troubles in a row that nothing good has followed; one that ends the run, a quota or a bad key counts in full",
    ...SILENT,
    watch: 1,
    alert: 3,
    action: "Look at the trouble with its model; wait for the reset, or give it another key or model.",
    source: "no healthy run of 500 showed three in a row",
  },
  failed: {
    about: "the run ended and is not completed",
    ...FACT,
    action: "Read the end of its log, then restart it.",
    source: "exit and result together; 95 % of crashed trials failed",
  },
  held: {
    about: "the run is held, or its process is stopped",
    ...FACT,
    action: "Free what it is held for; it goes on by itself.",
    source: "a fact of the run",
  },
  permission_wait: {
    about: "seconds since it asked for a permission that nobody gave",
    ...SILENT,
    watch: 5,
    alert: 20,
    action: "Nobody will answer: stop it and give it more permission.",
    source: "nobody answers a headless run by itself",
    precision: KNOWN,
  },
  no_first_output: {
    about: "seconds since the start without a line",
    ...SILENT,
    watch: 20,
    alert: 150,
    action: "Look at it; if it stays silent, stop and restart it.",
    source: "CLIs announce themselves within seconds; the longest healthy wait of 3,293 was 138 s",
  },
  model_silent: {
    about: "seconds of silence while it waits for its model, with no work of its own",
    ...SILENT,
    watch: 150,
    alert: 180,
    action: "It may recover; if it stays silent, stop it and restart it with --resume.",
    source: "healthy waits: p99.9 115 s, longest 138 s of 3,293",
  },
  tool_silent: {
    about: "seconds of silence while a tool runs that does no work",
    ...SILENT,
    watch: 600,
    alert: 1800,
    action: "Look at the tool that it waits for.",
    source: "SWE-agent gives all of a run's tools 1800 s",
  },
  denied: {
    about: "tool uses denied in a row",
    ...STUCK,
    fact: true,
    watch: 2,
    alert: 3,
    action: "Give it more permission, or another task.",
    source: "cline and Roo: 3 mistakes",
    precision: ASSUMED,
  },
  repeat: {
    about: "the same call with the same result in a row",
    ...STUCK,
    watch: 3,
    alert: 4,
    most: 48,
    action: "Look at the repeated call; tell it what is wrong, or stop it.",
    source: "OpenHands 4, opencode 3, cline 3 and 5; injected repeats",
    precision: { watch: { right: 30, of: 33 }, alert: { right: 27, of: 28 } },
  },
  cycle: {
    about: "rounds of the same 2 to 6 calls with the same results",
    ...STUCK,
    watch: 2,
    alert: 3,
    most: 24,
    action: "Look at the calls that it goes round in; tell it what is wrong, or stop it.",
    source: "OpenHands 3 rounds of 2, gemini-cli 5 rounds of up to 5",
    precision: { watch: { right: 34, of: 37 }, alert: { right: 28, of: 28 } },
  },
  again: {
    about: "the same call with the same result among the last 48 steps, since anything was changed",
    ...STUCK,
    watch: 3,
    alert: 4,
    most: 48,
    action: "Look at the repeated call; tell it what is wrong, or stop it.",
    source: "qwen-code 6 duplicates anywhere; injected repeats",
    precision: { watch: { right: 51, of: 59 }, alert: { right: 43, of: 48 } },
  },
  retry: {
    about: "the same failing call with the same answer among the last 48 steps, whatever was changed in between",
    ...STUCK,
    watch: 3,
    alert: 4,
    most: 48,
    action: "Look at the failing call; tell it what is wrong, or stop it.",
    source: "OpenHands 3; injected failing tests",
    precision: { watch: { right: 31, of: 39 }, alert: { right: 23, of: 26 } },
  },
  same_edit: {
    about: "the same edit of a file, made or taken back, among the last 48 steps",
    ...STUCK,
    watch: 3,
    alert: 4,
    most: 48,
    action: "Look at the edit that comes and goes; tell it what is wrong, or stop it.",
    source: "injected edits and reverts",
    precision: { watch: { right: 10, of: 14 }, alert: { right: 8, of: 10 } },
  },
  same_answer: {
    about: "steps with the same answer among the last 48, however they asked, since anything was changed",
    ...STUCK,
    watch: 5,
    alert: 8,
    most: 48,
    action: "It asks the same in other ways: tell it what is wrong, or stop it.",
    source: "injected variants",
    precision: { watch: { right: 14, of: 17 }, alert: { right: 8, of: 9 } },
  },
  gone: {
    about: "steps of the last 48 that failed because the same tool or program is not there",
    ...STUCK,
    watch: 3,
    alert: 4,
    most: 48,
    action: "Bring the tool or program back, or tell it to do without.",
    source: "injected tools that are gone; two real ones",
    precision: { watch: { right: 18, of: 19 }, alert: { right: 15, of: 15 } },
  },
  same_error: {
    about: "steps of the last 24 that failed with the same error and showed next to nothing new",
    ...STUCK,
    watch: 5,
    alert: 8,
    most: 24,
    action: "Look at the error that comes again; tell it how to get past it.",
    source: "injected errors",
    precision: { watch: { right: 33, of: 40 }, alert: { right: 25, of: 27 } },
  },
  no_news: {
    about: "steps in a row that showed nothing new and changed nothing",
    ...STUCK,
    watch: 6,
    alert: 8,
    action: "Nothing new comes out: ask it what it waits for, or stop it.",
    source: "injected variants",
    precision: { watch: { right: 51, of: 54 }, alert: { right: 43, of: 46 } },
  },
  same_words: {
    about: "times that it says the same sentence in one message",
    ...STUCK,
    watch: 10,
    alert: 15,
    action: "It repeats itself: stop it.",
    source: "gemini-cli: 10 chunks",
    precision: ASSUMED,
  },
  off_task: {
    about: "steps in a row that share next to no words with the task or with what it led to",
    verdict: "off_track",
    watched: "drifting",
    fact: false,
    watch: 3,
    alert: Infinity,
    action: "Compare what it does with its task; remind it of the task.",
    source: "spliced runs",
    precision: { watch: { right: 5, of: 5 }, alert: { right: 0.9, of: 0 } },
  },
  unproven: {
    about: "it says that it is done, and no tool call of it succeeded",
    verdict: "unknown",
    watched: "unknown",
    fact: true,
    watch: 1,
    alert: Infinity,
    most: 1,
    action: "Check its work: it says that it is done and used no tool with success.",
    source: "78 % of 980 Claude Code trials without a tool call failed",
    precision: { watch: { right: 0.78, of: 0 }, alert: { right: 0.78, of: 0 } },
  },
  flood: {
    about: "lines a second",
    verdict: "unknown",
    watched: "on_track",
    fact: true,
    watch: 2000,
    alert: Infinity,
    action: "Look at what it prints: it floods its log.",
    source: "20 agents print 50 lines a second each",
    precision: ASSUMED,
  },
};

/** Other thresholds than the table's, by rule. */
export type Thresholds = { readonly [K in RuleName]?: { readonly watch?: number; readonly alert?: number } };

export const RULE_NAMES: readonly RuleName[] = Object.keys(RULES) as RuleName[];
