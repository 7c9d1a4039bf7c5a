/** What can be configured. This table is the only place of a name, a default and its sentence. */

/** The kind of a field decides how its text is read and which values it takes. */
export interface ConfigField {
  kind: "size" | "duration" | "count" | "dollars" | "text" | readonly string[];
  default: string | number;
  about: string;
  /**
   * What a file that nobody trusted may say (src/trust). `trust`: nothing, for it runs code, reaches the network, reads secrets or deletes.
   * `less`, `limit`: only what allows agents no more than the default; of a limit 0 is none.
   */
  guard?: "trust" | "less" | "limit";
  /** It takes the word `off`, which is 0. */
  off?: true;
}

export const CONFIG_FIELDS = {
  disk_warn: { kind: "size", default: "500M", about: "Free disk space below which a start warns" },
  disk_refuse: { kind: "size", default: "100M", about: "Free disk space below which a start is refused" },
  disk_floor: { kind: "size", default: "64M", about: "Free disk space below which a running agent is held" },
  disk_policy: { kind: ["hold", "stop"], default: "hold", about: "What happens to an agent below the floor" },
  output_limit: {
    kind: "size",
    default: "0",
    about: "Output of one run above which it is stopped, outcome limit; 0 is none, and the disk floor holds it",
    guard: "limit",
  },
  sync: {
    kind: ["interval", "none", "always"],
    default: "interval",
    about: "When a growing log is put on stable storage: each 250 ms or 16 MiB, never, or at each look",
  },
  grace: { kind: "duration", default: "5s", about: "Time from the first signal of a stop to SIGKILL; 0 kills at once" },
  stop_files: {
    kind: ["auto", "keep", "archive"],
    default: "auto",
    about:
      "What a stop does with the files of a run: `keep` leaves log and reports at their names, `archive` moves them to the archive at once and deletes the rest; `auto`: `archive` for `kill_real_agent` and for an agent that reported that it is done, else `keep`",
  },
  done_silence: {
    kind: "duration",
    default: "10s",
    about:
      "Time without output and reports after which an agent that reported `completed`, `failed`, `error` or `terminated` and lives on is ended; `off` or 0: never",
    off: true,
  },
  archive_dir: {
    kind: "text",
    default: "archive",
    about: "Name of the archive folder of a new task, in the task's folder",
  },
  scan_timeout: {
    kind: "duration",
    default: "10s",
    about: "Time that one search for processes left of a run may take; one that takes longer proves nothing",
  },
  left_shown: {
    kind: "count",
    default: 3,
    about: "Processes left of a run that the event of a failed stop names; the receipt has all",
  },
  archive_after: { kind: "duration", default: "24h", about: "Age at which the log of an ended run is compressed" },
  tier: {
    kind: ["auto", "subreaper"],
    default: "auto",
    about: "How a run is contained: a cgroup where one can be made, or always a subreaper",
    guard: "trust",
  },
  wall_limit: {
    kind: "duration",
    default: "0",
    about: "Time after which a run has passed its limit; 0 is none",
    guard: "limit",
  },
  idle_limit: {
    kind: "duration",
    default: "0",
    about: "Time without output after which a run has passed its limit; 0 is none",
    guard: "limit",
  },
  token_limit: {
    kind: "count",
    default: 0,
    about: "Tokens of a run, as far as its CLI has told while it runs; 0 is no limit",
    guard: "limit",
  },
  cost_limit: {
    kind: "dollars",
    default: 0,
    about:
      "Cost of a run in US dollars: what its CLI told, and what it used since by the list of prices; 0 is no limit",
    guard: "limit",
  },
  prices_file: {
    kind: "text",
    default: "",
    about: "File with prices of models, which count before the ones that midwatch comes with (cost.md)",
    guard: "trust",
  },
  limit_policy: {
    kind: ["stop", "interrupt", "notify"],
    default: "stop",
    about:
      "What happens when time, idle time, tokens or cost pass their limit; one that goes on for the grace time after it was interrupted is stopped",
    guard: "trust",
  },
  time_zone: {
    kind: "text",
    default: "",
    about: "Whose midnight a day's and a week's budget begin at, such as `Europe/Berlin`; empty is the machine's zone",
    guard: "trust",
  },
  companion: {
    kind: ["auto", "off"],
    default: "auto",
    about: "Whether a run that somebody has to watch starts the companion while no `up` runs (docs/companion.md)",
    guard: "trust",
  },
  max_running: { kind: "count", default: 8, about: "Running agents up to which `run --queue` starts the next" },
  max_agents: { kind: "count", default: 1000, about: "Live agents in one workspace", guard: "less" },
  max_depth: {
    kind: "count",
    default: 5,
    about: "How deep agents may start agents; one started by a person has depth 0",
    guard: "less",
  },
  max_children: { kind: "count", default: 20, about: "Live agents that one agent may have started", guard: "less" },
  child_rate: { kind: "count", default: 30, about: "Agents that one agent may start in a minute", guard: "less" },
  prune_after: {
    kind: "duration",
    default: "14d",
    about: "Age at which `up` and `prune` take an ended run to the trash; `off` or 0: none goes for its age",
    guard: "trust",
    off: true,
  },
  prune_over: {
    kind: "size",
    default: "5G",
    about:
      "Size of the workspace above which `up` and `prune` take the oldest runs to the trash; `off` or 0: none goes for its size",
    guard: "trust",
    off: true,
  },
  runs_kept: {
    kind: "count",
    default: 20,
    about: "Earlier runs of one agent whose logs stay when its next one begins; `off` or 0: all, whatever their number",
    guard: "trust",
    off: true,
  },
  runs_kept_size: {
    kind: "size",
    default: "5G",
    about:
      "Size of the logs of an agent's earlier runs above which the oldest go to the trash, but for the last; `off` or 0: none",
    guard: "trust",
    off: true,
  },
  trash_for: {
    kind: "duration",
    default: "24h",
    about: "How long what was pruned can be brought back",
    guard: "trust",
  },
  worktree_copy: {
    kind: "text",
    default: "",
    about: "Files of the project that a new worktree gets a copy of, separated by commas, such as `.env`",
    guard: "trust",
  },
  worktree_setup: {
    kind: "text",
    default: "",
    about: "Command that a shell runs in a new worktree, such as `npm ci`",
    guard: "trust",
  },
  prompt_template: {
    kind: "text",
    default: "",
    about: "File with the text round a prompt; the built-in one tells the agent its task and how to report",
    guard: "trust",
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
  watch_lines: {
    kind: "count",
    default: 200,
    about: "Lines that one read of a file gives (`verdicts.readFile`), at most 1 MiB of them",
  },
  watch_backoff: {
    kind: "duration",
    default: "10s",
    about: "How long the watch leaves an agent alone whose log could not be read",
  },
  watch_streaming: {
    kind: ["on", "off"],
    default: "on",
    about: "Whether summaries go to those who follow them by WebSocket; `off`: they are asked for",
  },
  opinion: {
    kind: ["off", "claude", "codex"],
    default: "off",
    about: "Agent CLI, installed and logged in, that is asked about what behaviour shows (second-opinion.md)",
    guard: "trust",
  },
  opinion_per_day: {
    kind: "count",
    default: 24,
    about: "How often a day that CLI may be asked about one agent",
    guard: "trust",
  },
  llm_provider: {
    kind: ["off", "anthropic", "openai-compatible"],
    default: "off",
    about: "Who gives the watch a second opinion (second-opinion.md)",
    guard: "trust",
  },
  llm_base_url: {
    kind: "text",
    default: "",
    about: "Address of its API; empty is that of the provider itself",
    guard: "trust",
  },
  llm_model: { kind: "text", default: "claude-haiku-4-5", about: "Model that is asked", guard: "trust" },
  llm_key_env: {
    kind: "text",
    default: "",
    about:
      "Name of the variable that holds the key; empty is `ANTHROPIC_API_KEY` for anthropic and no key for the other",
    guard: "trust",
  },
  llm_key_file: { kind: "text", default: "", about: "File that holds the key, instead of a variable", guard: "trust" },
  llm_every: {
    kind: "duration",
    default: "300s",
    about: "How often an agent that prints is asked about; a change of its verdict is asked about at once",
    guard: "trust",
  },
  llm_tokens_per_hour: {
    kind: "count",
    default: 40_000,
    about: "Tokens, sent and received, that one agent may cost in any hour",
    guard: "trust",
  },
  llm_timeout: { kind: "duration", default: "30s", about: "Time that an answer may take", guard: "trust" },
  sync_remote: {
    kind: "text",
    default: "",
    about:
      "Where the journal is synced to: a remote of the project's repository, a URL or a path; with it `midwatch up` syncs",
    guard: "trust",
  },
  sync_branch: {
    kind: "text",
    default: "midwatch-journal",
    about: "The branch there that holds the journal and nothing else",
    guard: "trust",
  },
  sync_every: {
    kind: "duration",
    default: "30s",
    about: "How often `midwatch up` and `sync --watch` sync",
    guard: "trust",
  },
  nats_servers: {
    kind: "text",
    default: "",
    about:
      "The hub of a fleet of machines, such as `nats://hub:4222`, several by commas; with it `midwatch up` joins (scale.md)",
    guard: "trust",
  },
  nats_fleet: { kind: "text", default: "fleet", about: "The name of the fleet on the hub", guard: "trust" },
  nats_host: {
    kind: "text",
    default: "",
    about: "The name of this workspace in the fleet; empty is the machine's name with four digits that its path gives",
    guard: "trust",
  },
  nats_labels: {
    kind: "text",
    default: "",
    about: "What `run --on` finds this host by, such as `gpu=a100,zone=eu`",
    guard: "trust",
  },
  nats_creds: {
    kind: "text",
    default: "",
    about: "File with the credentials for the hub, as `nsc` writes it",
    guard: "trust",
  },
  nats_nkey: { kind: "text", default: "", about: "File with the seed of an nkey for the hub", guard: "trust" },
  nats_people: {
    kind: "text",
    default: "",
    about:
      "Public keys of the people whose questions this host answers, by commas; `nats init` prints them. Where people sit, empty is their own key",
    guard: "trust",
  },
  nats_ca: {
    kind: "text",
    default: "",
    about: "File with the certificates of those who sign the hub's",
    guard: "trust",
  },
  nats_cert: {
    kind: "text",
    default: "",
    about: "File with the certificate of this host, where the hub asks for one",
    guard: "trust",
  },
  nats_key: { kind: "text", default: "", about: "File with the key of that certificate", guard: "trust" },
  nats_monitor: {
    kind: "text",
    default: "",
    about: "Monitoring addresses of the hub's servers, by commas, where they do not tell by themselves how they sync",
    guard: "trust",
  },
  nats_logs: {
    kind: ["off", "archived"],
    default: "off",
    about: "Whether logs go to the hub when they are archived, as they are, to be read while this host is away",
    guard: "trust",
  },
  nats_keep: {
    kind: "duration",
    default: "30d",
    about: "How long the hub keeps the fleet's events; `off` or 0: for ever",
    guard: "trust",
    off: true,
  },
  nats_keep_bytes: {
    kind: "size",
    default: "10G",
    about: "How much of the fleet's events the hub keeps, the newest; `off` or 0: all",
    guard: "trust",
    off: true,
  },
} as const;

export type ConfigKey = keyof typeof CONFIG_FIELDS;

export const CONFIG_KEYS: readonly ConfigKey[] = Object.keys(CONFIG_FIELDS) as ConfigKey[];
