/** What is known of a run from outside its words, and what the judge makes of that: how it stands, and whether its silence is a hang. */
import { isAtWork } from "../core/phase.ts";
import type { Hold, Outcome, Phase } from "../core/types.ts";
import type { Measure } from "./stuck.ts";

/** The process tree since somebody looked last. */
interface ProcessFacts {
  /** Share of one core that the whole tree used. */
  cpu: number;
  /** Living processes below the main one, without servers of its own that are always there. */
  children: number;
  /** Stopped by a signal. */
  stopped: boolean;
}

export interface Facts {
  nowMs: number;
  phase: Phase;
  outcome: Outcome | null;
  /** Why it is not `completed`, in one sentence. */
  why: string | null;
  startedMs: number | null;
  lastOutputMs: number | null;
  /** It waits for its turn. */
  queued?: boolean;
  hold: Hold | null;
  /** Whether its driver reads an agent's lines: a plain command may be silent for hours. */
  speaks: boolean;
  /** Null when nobody looked. */
  process: ProcessFacts | null;
}

/** What the agent is waiting for, as far as its stream tells. */
export type Waiting = "start" | "model" | "tool" | "permission" | "nothing";

/** Idle programs of a JavaScript runtime still use a little. */
const IDLE_CPU = 0.02;

type Outside = Omit<Measure, "seq">;

export function fromOutside(facts: Facts): Outside[] {
  const { phase, outcome, why, hold } = facts;
  if (phase === "launch_failed") return [{ rule: "never_started", value: 1, quote: why ?? "" }];
  if (outcome === "failed" || outcome === "limit") return [{ rule: "failed", value: 1, quote: why ?? outcome }];
  if (!isAtWork(facts)) return [];
  if (hold !== null) return [{ rule: "held", value: 1, quote: `held for ${hold.why} since ${hold.since}` }];
  if (facts.process?.stopped === true) return [{ rule: "held", value: 1, quote: "its process is stopped by a signal" }];
  return [];
}

/**
 * Silence is a hang only when nothing works: zero CPU and no child. Where nobody looked at the processes or some of them live,
 * it is worth a look and no more, so `certain` is false.
 */
export function fromSilence(facts: Facts, waiting: Waiting, lastMs: number | null): (Outside & { certain: boolean })[] {
  if (!facts.speaks || facts.phase !== "running" || facts.hold !== null || waiting === "nothing") return [];
  const since = Math.max(lastMs ?? 0, facts.lastOutputMs ?? 0) || facts.startedMs;
  if (since === null) return [];
  const value = Math.max(0, Math.floor((facts.nowMs - since) / 1000));
  const process = facts.process;
  const idle = process !== null && process.cpu <= IDLE_CPU;
  const still = idle && process.children === 0;
  const quote = `silent for ${value} s${still ? "; its processes do nothing" : ""}`;
  switch (waiting) {
    case "start":
      return [{ rule: "no_first_output", value, quote, certain: still }];
    case "model":
      return [{ rule: "model_silent", value, quote: `waits for its model, ${quote}`, certain: still }];
    case "tool":
      return [{ rule: "tool_silent", value, quote, certain: idle }];
    case "permission":
      // Who gives it does so on its input, which no line shows: work is the sign.
      return [
        {
          rule: "permission_wait",
          value,
          quote: `waits for a permission, ${quote}`,
          certain: process === null || still,
        },
      ];
  }
}
