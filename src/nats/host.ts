/** What a host tells the fleet of itself, and who of several fits best. */
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { isFields } from "../core/json.ts";

export type Labels = Record<string, string>;

/** The register `hosts/<host>`: written by the host itself, again and again. */
export interface HostFact {
  v: 1;
  host: string;
  /** The workspace: two of them under one name would overwrite each other. */
  identity: string;
  since: string;
  at: string;
  version: string;
  labels: Labels;
  cpus: number;
  /** Of the last minute, as the kernel counts. */
  load: number;
  memory_bytes: number;
  memory_free_bytes: number;
  disk_free_bytes: number;
  running: number;
  max_running: number;
  /** Its own agents, but no new ones of the fleet: too little room on its disk. */
  full: boolean;
  /** What its workspace has spent in its day and its week; missing before 0.2, and where nobody can tell. */
  spend?: { day: Spend; week: Spend };
  /** How far its journal is at the hub, in case the hub keeps none of it any more. */
  sent?: string;
}

interface Spend {
  from: string;
  until: string;
  usd: number;
  estimated_usd: number;
  tokens: number;
  unpriced: number;
}

const TEXTS = ["identity", "since", "at", "version"] as const;
const FIGURES = [
  ...(["cpus", "load", "memory_bytes", "memory_free_bytes"] as const),
  ...(["disk_free_bytes", "running", "max_running"] as const),
];

/** Whether it can be shown: whoever may write it may write anything. */
export function isHostFact(value: unknown): value is HostFact {
  return (
    isFields(value) &&
    value["v"] === 1 &&
    /^[a-z0-9][a-z0-9_-]{0,63}$/.test(String(value["host"])) &&
    TEXTS.every((field) => typeof value[field] === "string") &&
    FIGURES.every((field) => Number.isFinite(value[field])) &&
    isFields(value["labels"]) &&
    Object.values(value["labels"]).every((label) => typeof label === "string") &&
    (value["spend"] === undefined || isSpend(value["spend"]))
  );
}

/** One that is below zero would make room for others. */
function isSpend(value: unknown): boolean {
  const isWindow = (one: unknown): boolean =>
    isFields(one) &&
    [one["from"], one["until"]].every((at) => typeof at === "string") &&
    ["usd", "estimated_usd", "tokens", "unpriced"].every(
      (name) => Number.isFinite(one[name]) && Number(one[name]) >= 0,
    );
  return isFields(value) && isWindow(value["day"]) && isWindow(value["week"]);
}

/** `hosts --json`. */
export interface HostRecord extends HostFact {
  /** It answered just now. */
  reachable: boolean;
  /** A person said that it gets no new agents. */
  draining: boolean;
  /** Whether it signed what it tells of itself. `missing`: it runs midwatch 0.1, or no roster names it. `none`: nobody here has a key. */
  signature: "signed" | "missing" | "none";
}

export interface Wish {
  host?: string | undefined;
  /** `gpu` or `gpu=a100`; all have to fit. */
  on?: readonly string[] | undefined;
}

/** `gpu,zone=eu` as `{gpu: "", zone: "eu"}`. */
export function parseLabels(text: string): Labels {
  const labels: Labels = {};
  for (const part of text.split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const [, name, value = ""] = /^([A-Za-z0-9_.-]{1,63})(?:=([A-Za-z0-9_.-]{0,63}))?$/.exec(part) ?? [];
    if (name === undefined)
      throw new MidwatchError("BAD_CONFIG", `${quote(part)} is not a label.`, { hint: "Write gpu or gpu=a100." });
    labels[name] = value;
  }
  return labels;
}

/** The host for one more agent. Throws NOT_FOUND_HOST with the reason of each that does not fit. */
export function place(hosts: readonly HostRecord[], wish: Wish): HostRecord {
  const reasons: string[] = [];
  const fitting = hosts.filter((host) => {
    const reason = whyNot(host, wish);
    if (reason !== undefined) reasons.push(`${host.host}: ${reason}`);
    return reason === undefined;
  });
  const [best] = fitting.sort((a, b) => burden(a) - burden(b) || (a.host < b.host ? -1 : 1));
  if (best !== undefined) return best;
  throw new MidwatchError("NOT_FOUND_HOST", `No host takes this agent (${reasons.join("; ") || "there is none"}).`, {
    hint: "`midwatch hosts` lists them.",
  });
}

function whyNot(host: HostRecord, { host: name, on = [] }: Wish): string | undefined {
  if (name !== undefined && host.host !== name) return "another was named";
  if (!host.reachable) return "unreachable";
  if (host.draining) return "draining";
  // Anybody could have written what it tells; somebody who names the host means it.
  if (host.signature === "missing" && name === undefined) return "what it tells is not signed";
  if (host.full) return "its disk is full";
  const wanted = Object.entries(parseLabels(on.join(",")));
  const missing = wanted.find(
    ([label, value]) => host.labels[label] === undefined || (value !== "" && host.labels[label] !== value),
  );
  if (missing !== undefined) return `not labelled ${missing.filter(Boolean).join("=")}`;
  // Somebody who names the host means it.
  if (name === undefined && host.running >= host.max_running) return "as many agents as it may run";
  return undefined;
}

/** How busy it is, from 0 up: what is scarcest counts. */
function burden({ load, cpus, running, max_running, memory_bytes, memory_free_bytes }: HostFact): number {
  const memory = memory_bytes > 0 ? 1 - memory_free_bytes / memory_bytes : 1;
  return Math.max(load / Math.max(1, cpus), running / Math.max(1, max_running), memory);
}
