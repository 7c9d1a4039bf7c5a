/**
 * The configuration of a call that an agent makes: a person's, and what the agent asks for only where that is stricter. Its environment and its
 * flags are its own words; they lower what it may use, and never raise it.
 */
import type { IntentFact } from "../intent.ts";
import type { Config } from "./config.ts";
import { CONFIG_KEYS, type ConfigKey } from "./config-fields.ts";

/**
 * How an agent's word counts: the lower or the higher number, the word that stands first, its own word because it bounds nothing, or
 * not at all because it names a file, a program, an address or how long a thing is kept.
 */
type Rule = "lower" | "lower, 0 is none" | "higher" | "its own" | "a person's" | readonly string[];

const RULES: Readonly<Record<ConfigKey, Rule>> = {
  disk_warn: "higher",
  disk_refuse: "higher",
  disk_floor: "higher",
  disk_policy: ["stop", "hold"],
  output_limit: "lower, 0 is none",
  sync: ["always", "interval", "none"],
  grace: "its own",
  stop_files: "a person's",
  done_silence: "a person's",
  archive_dir: "a person's",
  scan_timeout: "its own",
  left_shown: "its own",
  archive_after: "a person's",
  tier: "its own",
  wall_limit: "lower, 0 is none",
  idle_limit: "lower, 0 is none",
  token_limit: "lower, 0 is none",
  cost_limit: "lower, 0 is none",
  prices_file: "a person's",
  limit_policy: ["stop", "interrupt", "notify"],
  time_zone: "a person's",
  companion: "a person's",
  max_running: "lower",
  max_agents: "lower",
  max_depth: "lower",
  max_children: "lower",
  child_rate: "lower",
  prune_after: "a person's",
  prune_over: "a person's",
  runs_kept: "a person's",
  runs_kept_size: "a person's",
  trash_for: "a person's",
  worktree_copy: "a person's",
  worktree_setup: "a person's",
  prompt_template: "a person's",
  interactive_idle: "a person's",
  snapshot_keep: "its own",
  leader_ttl: "its own",
  pause: "a person's",
  watch_poll: "its own",
  watch_lines: "its own",
  watch_backoff: "its own",
  watch_streaming: "its own",
  opinion: "a person's",
  opinion_per_day: "a person's",
  llm_provider: "a person's",
  llm_base_url: "a person's",
  llm_model: "a person's",
  llm_key_env: "a person's",
  llm_key_file: "a person's",
  llm_every: "a person's",
  llm_tokens_per_hour: "a person's",
  llm_timeout: "a person's",
  sync_remote: "a person's",
  sync_branch: "a person's",
  sync_every: "a person's",
  nats_servers: "a person's",
  nats_fleet: "a person's",
  nats_host: "a person's",
  nats_labels: "a person's",
  nats_creds: "a person's",
  nats_nkey: "a person's",
  nats_people: "a person's",
  nats_ca: "a person's",
  nats_cert: "a person's",
  nats_key: "a person's",
  nats_monitor: "a person's",
  nats_logs: "a person's",
  nats_keep: "a person's",
  nats_keep_bytes: "a person's",
};

export function stricter(persons: Config, asked: Config): Config {
  const entries = CONFIG_KEYS.map((key) => [key, stricterOf(RULES[key], persons[key], asked[key])]);
  return Object.freeze(Object.fromEntries(entries)) as Config;
}

function stricterOf(rule: Rule, persons: string | number, asked: string | number): string | number {
  if (rule === "its own") return asked;
  if (rule === "a person's") return persons;
  if (typeof rule !== "string") return rule.find((word) => word === persons || word === asked) ?? persons;
  const [one, other] = [Number(persons), Number(asked)];
  if (rule === "higher") return Math.max(one, other);
  return rule === "lower" ? Math.min(one, other) : lowerLimit(one, other);
}

/** 0 is no limit at all. */
export function lowerLimit(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}

/** From the strictest to the mildest. */
const POLICIES: readonly IntentFact["limit_policy"][] = ["stop", "interrupt", "notify"];

/** What bounds a run while it lives. */
export type Bounds = Pick<IntentFact, "limits" | "limit_policy">;

/** The stricter of both in everything. */
export function stricterBounds(one: Bounds, other: Bounds): Bounds {
  const lower = (name: keyof Bounds["limits"]): number => lowerLimit(one.limits[name] ?? 0, other.limits[name] ?? 0);
  return {
    limits: {
      output_bytes: lower("output_bytes"),
      wall_ms: lower("wall_ms"),
      idle_ms: lower("idle_ms"),
      tokens: lower("tokens"),
      cost_usd: lower("cost_usd"),
    },
    limit_policy: POLICIES.find((policy) => policy === one.limit_policy || policy === other.limit_policy) ?? "stop",
  };
}
