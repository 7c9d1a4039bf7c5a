/**
 * The loop rules of other programs as they ship, written anew from their published thresholds. A failing step counts as an error
 * event for all of them, by the same reading as ours.
 */
import type { Step } from "../../src/judge/steps.ts";
import { momentsOf, type Run } from "./runs.ts";
import { stepsOf } from "./steps-of.ts";

interface Event {
  call: string;
  /** OpenHands compares what the agent thought too. */
  action: string;
  observation: string;
  message: boolean;
  step: Step | null;
}

function eventsOf(run: Run): Event[] {
  const steps = stepsOf(momentsOf(run.steps));
  return run.steps.map((step, index) => ({
    call: `${step.tool}:${step.args}`,
    action: `${step.tool}:${step.args}:${step.thought ?? ""}`,
    observation: typeof step.rc === "number" ? `exit ${step.rc}` : (step.obs ?? ""),
    message: step.tool === "message",
    step: steps[index] ?? null,
  }));
}

/** The step at which a detector first fires; -1 for never. */
export type Detector = (run: Run) => number;

/** OpenHands: 4 equal actions with equal observations, 3 with errors, 3 equal messages, 6 that alternate. */
export function openHands(run: Run): number {
  const events = eventsOf(run);
  const row = (at: number, count: number, equal: (a: Event, b: Event) => boolean): boolean => {
    const last = events[at];
    if (last === undefined || at + 1 < count) return false;
    return events.slice(at + 1 - count, at + 1).every((event) => equal(event, last));
  };
  const action = (a: Event, b: Event): boolean => a.action === b.action;
  const both = (a: Event, b: Event): boolean => action(a, b) && a.observation === b.observation;
  return events.findIndex((_, at) => {
    if (row(at, 4, both)) return true;
    if (row(at, 3, (a, b) => action(a, b) && b.step?.error != null)) return true;
    if (row(at, 3, (a, b) => action(a, b) && a.message)) return true;
    const six = events.slice(Math.max(0, at - 5), at + 1);
    return six.length === 6 && six.every((event, index) => index < 2 || both(event, six[index - 2] ?? event));
  });
}

/** gemini-cli: a cycle of 1 to 5 calls 5 times; a chunk of 50 characters 10 times within 250 characters each. */
export function geminiCli(run: Run): number {
  const calls: string[] = [];
  return run.steps.findIndex(({ tool, args, thought }) => {
    if (tool !== "message") calls.push(`${tool}:${args}`);
    const cycles = [1, 2, 3, 4, 5].some((length) => {
      if (calls.length < length * 5) return false;
      const tail = calls.slice(-length * 5);
      return tail.every((call, index) => index < length || call === tail[index - length]);
    });
    return cycles || prose(tool === "message" ? args : (thought ?? "")).some(chants);
  });
}

/** Code is not searched, and a list, a table or a heading begins anew. */
function prose(text: string): string[] {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, "\n#\n").split(/^\s*(?:[-*+#>|]|\d+\.).*$/m);
}

const CHUNK = 50;
const CHANTS = 10;
const NEAR = 250;

function chants(text: string): boolean {
  const places = new Map<string, number[]>();
  for (let at = 0; at + CHUNK <= text.length; at++) {
    const chunk = text.slice(at, at + CHUNK);
    const found = places.get(chunk) ?? [];
    found.push(at);
    places.set(chunk, found);
    const first = found.at(-CHANTS);
    if (first !== undefined && (at - first) / (CHANTS - 1) <= NEAR) return true;
  }
  return false;
}

/** The values of the families that peers share, for a union that is tuned: identical calls, cycles, failures, duplicates. */
export function familyValues(run: Run): Record<string, number> {
  return familySteps(run).at(-1) ?? { consecutive: 0, cycle: 0, mistakes: 0, duplicates: 0 };
}

/** What they have come to at each step. */
export function familySteps(run: Run): Record<string, number>[] {
  const events: Event[] = [];
  const seen = new Map<string, number>();
  let most = { consecutive: 0, cycle: 0, mistakes: 0, duplicates: 0 };
  let failed = 0;
  return eventsOf(run).map((event) => {
    if (event.message) return most;
    const at = events.push(event) - 1;
    const rounds = (length: number): number => {
      let covered = Math.min(length, at + 1);
      while (covered <= at && events[at - covered]?.call === events[at - covered + length]?.call) covered++;
      return Math.floor(covered / length);
    };
    const count = (seen.get(event.call) ?? 0) + 1;
    seen.set(event.call, count);
    failed = event.step?.error != null ? failed + 1 : 0;
    most = {
      consecutive: Math.max(most.consecutive, rounds(1)),
      cycle: Math.max(most.cycle, ...[2, 3, 4, 5].map(rounds)),
      mistakes: Math.max(most.mistakes, failed),
      duplicates: Math.max(most.duplicates, count),
    };
    return most;
  });
}

/** For the step-count baseline. */
export function stepCount(run: Run): Record<string, number> {
  return { steps: run.steps.length };
}
