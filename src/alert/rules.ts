/** Which events are for which routes. Pure: an event and the rules of midwatch.config.json in, names of routes out. */
import type { JournalEvent } from "../journal/event.ts";

/** In rising order. */
export const SEVERITIES = ["info", "warning", "error", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const VERDICTS = ["on_track", "drifting", "off_track", "blocked", "unknown"] as const;
/** `unknown`: the end was not seen. */
export const OUTCOMES = ["completed", "failed", "stopped", "limit", "lost", "unknown"] as const;

/** All that is given has to fit; of a list one. */
export interface Rule {
  /** Types of events; one that ends with * stands for all that begin so. */
  type?: readonly string[];
  /** This one and worse. */
  severity?: Severity;
  verdict?: readonly string[];
  outcome?: readonly string[];
  routes: readonly string[];
}

export function routesFor(event: JournalEvent, rules: readonly Rule[]): Set<string> {
  const severity = SEVERITIES.indexOf(severityOf(event));
  const data = dataOf(event);
  const verdict = event.type === "verdict.changed" ? String(data["verdict"]) : undefined;
  const outcome = event.type === "agent.ended" ? String(data["outcome"] ?? "unknown") : undefined;
  const fits = (rule: Rule): boolean =>
    (rule.type === undefined || rule.type.some((pattern) => isOfType(event.type, pattern))) &&
    (rule.severity === undefined || severity >= SEVERITIES.indexOf(rule.severity)) &&
    (rule.verdict === undefined || (verdict !== undefined && rule.verdict.includes(verdict))) &&
    (rule.outcome === undefined || (outcome !== undefined && rule.outcome.includes(outcome)));
  return new Set(rules.filter(fits).flatMap(({ routes }) => routes));
}

function isOfType(type: string, pattern: string): boolean {
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

/** What the event says of itself (`data.severity`), else what its type means. */
export function severityOf(event: JournalEvent): Severity {
  const data = dataOf(event);
  const said = SAID[String(data["severity"])];
  if (said !== undefined) return said;
  switch (event.type) {
    case "error":
    case "agent.restored":
    case "agent.cut":
      return "error";
    case "agent.ended":
      return ENDED[String(data["outcome"])] ?? "error";
    case "agent.limit":
    case "cleanup.failed":
      return "warning";
    case "verdict.changed":
      if (!WORRYING.includes(String(data["verdict"]))) return "info";
      return data["level"] === "alert" ? "error" : "warning";
    default:
      return "info";
  }
}

/** What an event says of the trouble that a run is in; null state: it is over. */
export interface Trouble {
  agent: string;
  run: string;
  state: string | null;
}

export function troubleIn(event: JournalEvent): Trouble | null {
  const { agent, type } = event;
  const data = dataOf(event);
  if (agent === undefined || (type !== "verdict.changed" && type !== "agent.ended")) return null;
  const of = { agent, run: String(data["run"]) };
  if (type === "agent.ended") return { ...of, state: WELL.includes(String(data["outcome"])) ? null : ENDED_BADLY };
  const verdict = String(data["verdict"]);
  return { ...of, state: WORRYING.includes(verdict) ? verdict : null };
}

/** That a run failed says all that a verdict about it could say later. */
export const ENDED_BADLY = "ended";
const WELL: readonly string[] = ["completed", "stopped"];

/** The words of findings, and our own. */
const SAID: Readonly<Record<string, Severity>> = {
  low: "info",
  info: "info",
  medium: "warning",
  warning: "warning",
  high: "error",
  error: "error",
  critical: "critical",
};
const ENDED: Readonly<Record<string, Severity>> = { completed: "info", stopped: "info", limit: "warning" };
const WORRYING: readonly string[] = ["drifting", "off_track", "blocked"];

function dataOf({ data }: JournalEvent): Record<string, unknown> {
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}
