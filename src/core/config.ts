/**
 * Configuration. The schema below is the only place of a default; the order is defaults < midwatch.config.json <
 * MIDWATCH_* < flags. Reading the file and the environment is the caller's work: this is a pure function of data.
 */
import { z } from "zod";
import { parseDuration } from "./duration.ts";
import { MidwatchError } from "./errors.ts";
import { maskText } from "./mask.ts";
import { nearest } from "./nearest.ts";
import { formatSize, parseSize } from "./size.ts";
import type { DiskPolicy, LimitPolicy, LlmProvider, PausePolicy, SyncMode, Tier } from "./types.ts";

/** Sizes are in bytes and durations in milliseconds once parsed. */
export interface Config {
  readonly disk_warn: number;
  readonly disk_refuse: number;
  readonly disk_floor: number;
  readonly disk_policy: DiskPolicy;
  readonly output_limit: number;
  readonly sync: SyncMode;
  readonly grace: number;
  readonly archive_after: number;
  readonly tier: Tier;
  readonly wall_limit: number;
  readonly idle_limit: number;
  readonly token_limit: number;
  readonly cost_limit: number;
  readonly limit_policy: LimitPolicy;
  readonly max_running: number;
  readonly max_agents: number;
  readonly max_depth: number;
  readonly max_children: number;
  readonly child_rate: number;
  readonly prune_after: number;
  readonly prune_over: number;
  readonly trash_for: number;
  readonly worktree_copy: string;
  readonly worktree_setup: string;
  readonly prompt_template: string;
  readonly interactive_idle: number;
  readonly snapshot_keep: number;
  readonly leader_ttl: number;
  readonly pause: PausePolicy;
  readonly watch_poll: number;
  readonly llm_provider: LlmProvider;
  readonly llm_base_url: string;
  readonly llm_model: string;
  readonly llm_key_env: string;
  readonly llm_key_file: string;
  readonly llm_every: number;
  readonly llm_tokens_per_hour: number;
  readonly llm_timeout: number;
  readonly sync_remote: string;
  readonly sync_branch: string;
  readonly sync_every: number;
  readonly nats_servers: string;
  readonly nats_fleet: string;
  readonly nats_host: string;
  readonly nats_labels: string;
  readonly nats_creds: string;
  readonly nats_nkey: string;
  readonly nats_ca: string;
  readonly nats_cert: string;
  readonly nats_key: string;
  readonly nats_monitor: string;
  readonly nats_logs: "off" | "archived";
}

export type ConfigKey = keyof Config;
/** Values as a person writes them: "500M", "5s", 1000. */
export type ConfigInput = { readonly [K in ConfigKey]?: string | number | undefined };

/** The kind of a field decides how its text is read and which values it takes. */
interface Field {
  kind: "size" | "duration" | "count" | "dollars" | "text" | readonly string[];
  default: string | number;
  about: string;
}

export const CONFIG_FIELDS: Readonly<Record<ConfigKey, Field>> = {
  disk_warn: { kind: "size", default: "500M", about: "Free disk space below which a start warns" },
  disk_refuse: { kind: "size", default: "100M", about: "Free disk space below which a start is refused" },
  disk_floor: { kind: "size", default: "64M", about: "Free disk space below which a running agent is held" },
  disk_policy: { kind: ["hold", "stop"], default: "hold", about: "What happens to an agent below the floor" },
  output_limit: { kind: "size", default: "2GiB", about: "Output of one run above which it is stopped, outcome limit" },
  sync: {
    kind: ["interval", "none", "always"],
    default: "interval",
    about: "When a growing log is put on stable storage: each 250 ms or 16 MiB, never, or at each look",
  },
  grace: { kind: "duration", default: "5s", about: "Time from the first signal of a stop to SIGKILL; 0 kills at once" },
  archive_after: { kind: "duration", default: "24h", about: "Age at which the log of an ended run is compressed" },
  tier: {
    kind: ["auto", "subreaper"],
    default: "auto",
    about: "How a run is contained: a cgroup where one can be made, or always a subreaper",
  },
  wall_limit: { kind: "duration", default: "0", about: "Time after which a run has passed its limit; 0 is none" },
  idle_limit: {
    kind: "duration",
    default: "0",
    about: "Time without output after which a run has passed its limit; 0 is none",
  },
  token_limit: { kind: "count", default: 0, about: "Tokens of a run, as far as its stream tells; 0 is no limit" },
  cost_limit: {
    kind: "dollars",
    default: 0,
    about: "Cost of a run in US dollars, as far as its stream tells; 0 is no limit",
  },
  limit_policy: {
    kind: ["stop", "interrupt", "notify"],
    default: "stop",
    about: "What happens when time, idle time, tokens or cost pass their limit",
  },
  max_running: { kind: "count", default: 8, about: "Running agents up to which `run --queue` starts the next" },
  max_agents: { kind: "count", default: 1000, about: "Live agents in one workspace" },
  max_depth: {
    kind: "count",
    default: 5,
    about: "How deep agents may start agents; one started by a person has depth 0",
  },
  max_children: { kind: "count", default: 20, about: "Live agents that one agent may have started" },
  child_rate: { kind: "count", default: 30, about: "Agents that one agent may start in a minute" },
  prune_after: { kind: "duration", default: "14d", about: "Age at which `prune` takes an ended run away" },
  prune_over: {
    kind: "size",
    default: "5G",
    about: "Size of the workspace above which `prune` takes the oldest runs away",
  },
  trash_for: { kind: "duration", default: "24h", about: "How long what was pruned can be brought back" },
  worktree_copy: {
    kind: "text",
    default: "",
    about: "Files of the project that a new worktree gets a copy of, separated by commas, such as `.env`",
  },
  worktree_setup: { kind: "text", default: "", about: "Command that a shell runs in a new worktree, such as `npm ci`" },
  prompt_template: {
    kind: "text",
    default: "",
    about: "File with the text round a prompt; the built-in one tells the agent its task and how to report",
  },
  interactive_idle: {
    kind: "duration",
    default: "60s",
    about:
      "Time without messages and output after which an interactive agent that has finished gets the end of its input",
  },
  snapshot_keep: {
    kind: "count",
    default: 3,
    about: "Interactions that communication.md shows; older ones are in archive.md",
  },
  leader_ttl: {
    kind: "duration",
    default: "10s",
    about: "Silence after which a leader is followed by another, and anybody is taken for down",
  },
  pause: {
    kind: ["auto", "manual"],
    default: "auto",
    about: "After a write error, `midwatch up` goes on when it can be written again, or when a person says so",
  },
  watch_poll: {
    kind: "duration",
    default: "12s",
    about: "How often the watch looks at each agent; one that prints is looked at within a second",
  },
  llm_provider: {
    kind: ["off", "anthropic", "openai-compatible"],
    default: "off",
    about: "Who gives the watch a second opinion (second-opinion.md)",
  },
  llm_base_url: { kind: "text", default: "", about: "Address of its API; empty is that of the provider itself" },
  llm_model: { kind: "text", default: "claude-haiku-4-5", about: "Model that is asked" },
  llm_key_env: {
    kind: "text",
    default: "",
    about:
      "Name of the variable that holds the key; empty is `ANTHROPIC_API_KEY` for anthropic and no key for the other",
  },
  llm_key_file: { kind: "text", default: "", about: "File that holds the key, instead of a variable" },
  llm_every: {
    kind: "duration",
    default: "300s",
    about: "How often an agent that prints is asked about; a change of its verdict is asked about at once",
  },
  llm_tokens_per_hour: {
    kind: "count",
    default: 40_000,
    about: "Tokens, sent and received, that one agent may cost in any hour",
  },
  llm_timeout: { kind: "duration", default: "30s", about: "Time that an answer may take" },
  sync_remote: {
    kind: "text",
    default: "",
    about:
      "Where the journal is synced to: a remote of the project's repository, a URL or a path; with it `midwatch up` syncs",
  },
  sync_branch: {
    kind: "text",
    default: "midwatch-journal",
    about: "The branch there that holds the journal and nothing else",
  },
  sync_every: { kind: "duration", default: "30s", about: "How often `midwatch up` and `sync --watch` sync" },
  nats_servers: {
    kind: "text",
    default: "",
    about:
      "The hub of a fleet of machines, such as `nats://hub:4222`, several by commas; with it `midwatch up` joins (scale.md)",
  },
  nats_fleet: { kind: "text", default: "fleet", about: "The name of the fleet on the hub" },
  nats_host: {
    kind: "text",
    default: "",
    about: "The name of this workspace in the fleet; empty is the machine's name with four digits that its path gives",
  },
  nats_labels: { kind: "text", default: "", about: "What `run --on` finds this host by, such as `gpu=a100,zone=eu`" },
  nats_creds: { kind: "text", default: "", about: "File with the credentials for the hub, as `nsc` writes it" },
  nats_nkey: { kind: "text", default: "", about: "File with the seed of an nkey for the hub" },
  nats_ca: { kind: "text", default: "", about: "File with the certificates of those who sign the hub's" },
  nats_cert: { kind: "text", default: "", about: "File with the certificate of this host, where the hub asks for one" },
  nats_key: { kind: "text", default: "", about: "File with the key of that certificate" },
  nats_monitor: {
    kind: "text",
    default: "",
    about: "Monitoring addresses of the hub's servers, by commas, where they do not tell by themselves how they sync",
  },
  nats_logs: {
    kind: ["off", "archived"],
    default: "off",
    about: "Whether logs go to the hub when they are archived, as they are, to be read while this host is away",
  },
};

export const CONFIG_KEYS: readonly ConfigKey[] = Object.keys(CONFIG_FIELDS) as ConfigKey[];

/** Set by midwatch for the processes it starts, or read before there is a configuration. */
const RUNTIME_VARIABLES: readonly string[] = [
  "MIDWATCH_WORKSPACE",
  "MIDWATCH_AGENT",
  "MIDWATCH_RUN",
  "MIDWATCH_NONCE",
  "MIDWATCH_CAPABILITY",
  "MIDWATCH_KEEPER",
  "MIDWATCH_WATCHBENCH",
];

/** The seed's names (R-004.10). Three have no effect, each for the reason given; they are accepted so that old setups start. */
const SEED_VARIABLES: Readonly<Record<string, string>> = {
  CLEANUP_GRACE_PERIOD: "Seconds; the same as `grace`. MIDWATCH_GRACE wins.",
  CLEANUP_PS_TIMEOUT: "No effect: midwatch reads /proc itself and starts no ps that could hang.",
  CLEANUP_ARCHIVE_DIR:
    "No effect: the archive stays in the task's folder, so that no path from outside decides where files go.",
  CLEANUP_ZOMBIE_LIMIT: "No effect: a stop ends and lists every process of the run, so nothing is cut off at a count.",
};

/** One configuration value as zod; operations use it for flags that override the configuration. */
export function configValue(key: ConfigKey): z.ZodType<string | number, string | number> {
  const { kind } = CONFIG_FIELDS[key];
  if (typeof kind !== "string") return z.enum(kind as [string, ...string[]]);
  if (kind === "count") {
    return z.union([z.string(), z.number()]).transform((value, context) => {
      const count = typeof value === "number" || /^\d+$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (Number.isSafeInteger(count) && count >= 0) return count;
      context.addIssue({ code: "custom", message: `${JSON.stringify(value)} is not a whole number from 0 up.` });
      return z.NEVER;
    });
  }
  if (kind === "text") return z.union([z.string(), z.number()]).transform(String);
  if (kind === "dollars") {
    return z.union([z.string(), z.number()]).transform((value, context) => {
      const amount = typeof value === "number" || /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (Number.isFinite(amount) && amount >= 0) return amount;
      context.addIssue({ code: "custom", message: `${JSON.stringify(value)} is not an amount such as 2.50.` });
      return z.NEVER;
    });
  }
  const parse = kind === "size" ? parseSize : parseDuration;
  return z.union([z.string(), z.number()]).transform((value, context) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      context.addIssue({ code: "custom", message: [error.message, error.hint].filter(Boolean).join(" ") });
      return z.NEVER;
    }
  });
}

export interface ConfigSources {
  /** The parsed content of midwatch.config.json, when there is one. */
  file?: unknown;
  env?: Readonly<Record<string, string | undefined>>;
  flags?: ConfigInput;
}

/** Made once: a command loads its configuration before and after it knows the workspace. */
const READERS = new Map<ConfigKey, ReturnType<typeof configValue>>();

function readerOf(key: ConfigKey): ReturnType<typeof configValue> {
  const reader = READERS.get(key) ?? configValue(key);
  READERS.set(key, reader);
  return reader;
}

/** Merges, checks and freezes. Throws BAD_CONFIG naming the place a bad value came from. */
export function loadConfig(sources: ConfigSources = {}): Config {
  const merged = new Map<string, { value: unknown; from: string }>();
  for (const key of CONFIG_KEYS) merged.set(key, { value: CONFIG_FIELDS[key].default, from: "the default" });
  for (const [key, value] of fileEntries(sources.file))
    merged.set(key, { value, from: `${key} in midwatch.config.json` });
  for (const [key, value, name] of envEntries(sources.env ?? {})) merged.set(key, { value, from: name });
  for (const [key, value] of Object.entries(sources.flags ?? {})) {
    if (value !== undefined) merged.set(key, { value, from: `--${key.replaceAll("_", "-")}` });
  }
  const config: Record<string, unknown> = {};
  for (const key of CONFIG_KEYS) {
    const source = merged.get(key);
    const parsed = readerOf(key).safeParse(source?.value);
    if (!parsed.success) {
      // A key that was put in the wrong place is not repeated.
      const problem = maskText(parsed.error.issues[0]?.message ?? "not valid");
      throw new MidwatchError("BAD_CONFIG", `${source?.from}: ${problem}`, { hint: configHint(key) });
    }
    config[key] = parsed.data;
  }
  return Object.freeze(checkLlm(checkOrder(config as unknown as Config)));
}

function fileEntries(file: unknown): [string, unknown][] {
  if (file === undefined || file === null) return [];
  if (typeof file !== "object" || Array.isArray(file)) {
    throw new MidwatchError("BAD_CONFIG", "midwatch.config.json does not hold an object.", {
      hint: 'Write it as {"grace": "10s"}; docs/config.md lists the names.',
    });
  }
  // "$schema" lets editors complete the names; the others are objects, read where they are used.
  const entries = Object.entries(file)
    .filter(([key]) => !["$schema", "drivers", "headings", "rules", "alerts"].includes(key))
    .flatMap(([key, value]) => (key === "llm" ? llmEntries(value) : [[key, value] as [string, unknown]]));
  for (const [key] of entries) {
    if (!(CONFIG_KEYS as readonly string[]).includes(key))
      unknown(`${JSON.stringify(key)} in midwatch.config.json`, key, CONFIG_KEYS);
  }
  return entries;
}

/** `"llm": {"model": "x"}` is `"llm_model": "x"`. */
function llmEntries(given: unknown): [string, unknown][] {
  if (typeof given === "object" && given !== null && !Array.isArray(given))
    return Object.entries(given).map(([key, value]) => [`llm_${key}`, value]);
  throw new MidwatchError("BAD_CONFIG", "llm in midwatch.config.json is not an object.", {
    hint: 'Write it as {"llm": {"provider": "anthropic"}}.',
  });
}

function envEntries(env: Readonly<Record<string, string | undefined>>): [string, string, string][] {
  const known = new Map(CONFIG_KEYS.map((key) => [envName(key), key]));
  const entries: [string, string, string][] = [];
  const seconds = env["CLEANUP_GRACE_PERIOD"]?.trim();
  if (seconds) {
    const valid = /^\d+(\.\d+)?$/.test(seconds);
    if (!valid) {
      throw new MidwatchError(
        "BAD_CONFIG",
        `CLEANUP_GRACE_PERIOD: ${JSON.stringify(seconds)} is not a number of seconds.`,
        {
          hint: "Use MIDWATCH_GRACE=5s instead.",
        },
      );
    }
    entries.push(["grace", `${seconds}s`, "CLEANUP_GRACE_PERIOD"]);
  }
  for (const [name, value] of Object.entries(env)) {
    // An empty variable is the shell's way of unsetting one.
    if (!name.startsWith("MIDWATCH_") || value === undefined || value === "") continue;
    const key = known.get(name);
    if (key !== undefined) entries.push([key, value, name]);
    else if (!RUNTIME_VARIABLES.includes(name))
      unknown(`The variable ${name}`, name, [...known.keys(), ...RUNTIME_VARIABLES]);
  }
  return entries;
}

function unknown(what: string, name: string, known: readonly string[]): never {
  const near = nearest(name, known);
  throw new MidwatchError("BAD_CONFIG", `${what} is not known.`, {
    hint: near === undefined ? "docs/config.md lists the names." : `Did you mean ${near}?`,
  });
}

function checkOrder(config: Config): Config {
  if (config.leader_ttl < 100 || config.leader_ttl > 600_000) {
    throw new MidwatchError("BAD_CONFIG", `leader_ttl is ${config.leader_ttl} ms.`, {
      hint: "It must lie between 100ms and 10m; the default is 10s.",
    });
  }
  if (config.disk_floor < config.disk_refuse && config.disk_refuse < config.disk_warn) return config;
  throw new MidwatchError(
    "BAD_CONFIG",
    `disk_floor (${formatSize(config.disk_floor)}), disk_refuse (${formatSize(config.disk_refuse)}) and disk_warn (${formatSize(config.disk_warn)}) are out of order.`,
    { hint: "They must grow: disk_floor < disk_refuse < disk_warn." },
  );
}

/** Neither message repeats the value: it may be the key itself, put in the wrong place. */
function checkLlm(config: Config): Config {
  const { llm_base_url: url, llm_key_env: name } = config;
  if (name !== "" && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new MidwatchError("BAD_CONFIG", "llm_key_env does not hold the name of a variable.", {
      hint: "Put the key into a variable and its name here, or name a file by llm_key_file. A key never goes into the configuration.",
    });
  }
  if (url !== "" && !isApiAddress(url)) {
    throw new MidwatchError("BAD_CONFIG", "llm_base_url is no address of an API.", {
      hint: "Write it as https://host/v1, without a name, a password or a query.",
    });
  }
  return config;
}

function isApiAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

/** MIDWATCH_DISK_WARN for disk_warn. */
function envName(key: ConfigKey): string {
  return `MIDWATCH_${key.toUpperCase()}`;
}

function configHint(key: ConfigKey): string {
  const { kind, default: standard } = CONFIG_FIELDS[key];
  const values = typeof kind === "string" ? `a ${kind}` : kind.join(" or ");
  return `${key} takes ${values}; the default is ${standard}.`;
}

/** docs/config.md; a test compares the file with this. */
export function configDocument(): string {
  const rows = CONFIG_KEYS.map((key) => {
    const { kind, default: standard, about } = CONFIG_FIELDS[key];
    const values = typeof kind === "string" ? kind : kind.map((value) => `\`${value}\``).join(", ");
    return `| \`${key}\` | \`${envName(key)}\` | ${values} | \`${standard}\` | ${about} |`;
  });
  const seeds = Object.entries(SEED_VARIABLES).map(([name, about]) => `| \`${name}\` | ${about} |`);
  return `# Configuration

<!-- Generated from src/core/config.ts: npx vitest run src/core/config.test.ts -u -->

midwatch needs no configuration. Where you want another value, the order is: default < \`midwatch.config.json\` (beside
\`.agent-workspace\`) < environment < flag. A name that is not in this table is refused with the nearest known one.

| name | variable | values | default | what it sets |
|---|---|---|---|---|
${rows.join("\n")}

A size is \`500M\`, \`2GiB\`, \`64k\` (powers of 1,024) or a number of bytes. A duration is \`250ms\`, \`5s\`, \`10m\`, \`24h\`, \`14d\` or a
number of milliseconds. It must hold that \`disk_floor\` < \`disk_refuse\` < \`disk_warn\`. An empty variable counts as not set.

Four names hold objects: \`drivers\` (drivers.md), \`headings\` (journal.md), \`rules\` (watch.md) and \`alerts\` (alerts.md). Names that begin with
\`llm_\` may be written as one too: \`{"llm": {"provider": "anthropic", "every": "10m"}}\`.

## Variables of a run

${RUNTIME_VARIABLES.map((name) => `\`${name}\``).join(", ")} are set by midwatch for the processes it starts, or name its parts and
what \`npm run bench:watch\` measures. They are not configuration.

## Older names

| variable | effect |
|---|---|
${seeds.join("\n")}
`;
}
