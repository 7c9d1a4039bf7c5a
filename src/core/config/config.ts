/**
 * Configuration. The order is defaults < midwatch.config.json < MIDWATCH_* < flags. Reading the file and the environment is the caller's
 * work: this is a pure function of data.
 */

import { MidwatchError } from "../errors.ts";
import { isArchiveName } from "../ids.ts";
import { maskText } from "../mask/mask.ts";
import { didYouMean, nearest } from "../nearest.ts";
import { formatSize } from "../size.ts";
import { CONFIG_FIELDS, CONFIG_KEYS, type ConfigField, type ConfigKey } from "./config-fields.ts";
import { configValue } from "./config-value.ts";

/** Sizes are in bytes and durations in milliseconds once parsed. */
export type Config = { readonly [K in ConfigKey]: ValueOf<(typeof CONFIG_FIELDS)[K]["kind"]> };
type ValueOf<Kind extends ConfigField["kind"]> = Kind extends readonly string[]
  ? Kind[number]
  : Kind extends "text"
    ? string
    : number;

/** Values as a person writes them: "500M", "5s", 1000. */
export type ConfigInput = { readonly [K in ConfigKey]?: string | number | undefined };

/** Set by midwatch for the processes it starts, or read before there is a configuration. */
export const RUNTIME_VARIABLES: readonly string[] = [
  "MIDWATCH_WORKSPACE",
  "MIDWATCH_AGENT",
  "MIDWATCH_RUN",
  "MIDWATCH_NONCE",
  "MIDWATCH_CAPABILITY",
  "MIDWATCH_RIGHTS",
  "MIDWATCH_KEEPER",
  "MIDWATCH_WATCHBENCH",
  "MIDWATCH_TRUST",
];

export interface ConfigSources {
  /** The parsed content of midwatch.config.json, when there is one. */
  file?: unknown;
  /** Whether a person trusted that file; otherwise only what can do no harm counts. */
  trusted?: boolean;
  env?: Readonly<Record<string, string | undefined>>;
  flags?: ConfigInput;
}

/** Merges, checks and freezes. Throws BAD_CONFIG naming the place a bad value came from. */
export function loadConfig(sources: ConfigSources = {}): Config {
  const merged = new Map<string, { value: unknown; from: string }>();
  for (const key of CONFIG_KEYS) merged.set(key, { value: CONFIG_FIELDS[key].default, from: "the default" });
  for (const [key, value] of fileEntries(sources.file))
    if (sources.trusted !== false || !isGuarded(key as ConfigKey, value))
      merged.set(key, { value, from: `${key} in midwatch.config.json` });
  for (const [key, value, name] of envEntries(sources.env ?? {})) merged.set(key, { value, from: name });
  for (const [key, value] of Object.entries(sources.flags ?? {})) {
    if (value !== undefined) merged.set(key, { value, from: `--${key.replaceAll("_", "-")}` });
  }
  const config: Record<string, unknown> = {};
  for (const key of CONFIG_KEYS) {
    const source = merged.get(key);
    try {
      config[key] = configValue(key, source?.value);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      // A key that was put in the wrong place is not repeated.
      const problem = maskText([error.message, error.hint].filter(Boolean).join(" "));
      throw new MidwatchError("BAD_CONFIG", `${source?.from}: ${problem}`, { hint: configHint(key) });
    }
  }
  return Object.freeze(checkZone(checkLlm(checkCleanup(checkOrder(config as unknown as Config)))));
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
    .filter(([key]) => key !== "$schema" && !OBJECTS.includes(key))
    .flatMap(([key, value]) => (key === "llm" ? llmEntries(value) : [[key, value] as [string, unknown]]));
  for (const [key] of entries) {
    if (!(CONFIG_KEYS as readonly string[]).includes(key))
      unknown(`${JSON.stringify(key)} in midwatch.config.json`, key, CONFIG_KEYS);
  }
  return entries;
}

/** Parts of the file that are no single settings; those that run code or reach the network need trust. */
const OBJECTS = ["drivers", "headings", "rules", "alerts", "budget"];
const GUARDED_OBJECTS = ["drivers", "alerts", "budget"];

/** What of a file counts only when a person trusted it. */
export function guardedSettings(file: unknown): string[] {
  const entries = fileEntries(file).filter(([key, value]) => isGuarded(key as ConfigKey, value));
  const objects = GUARDED_OBJECTS.filter((key) => (file as Record<string, unknown> | null)?.[key] !== undefined);
  return [...objects, ...entries.map(([key]) => key)];
}

function isGuarded(key: ConfigKey, value: unknown): boolean {
  const { guard, default: standard }: ConfigField = CONFIG_FIELDS[key];
  if (guard === undefined || guard === "trust") return guard === "trust";
  const most = (given: unknown): number => {
    const number = Number(configValue(key, given));
    return guard === "limit" && number === 0 ? Number.POSITIVE_INFINITY : number;
  };
  try {
    return most(value) > most(standard);
  } catch {
    return false; // It is refused for what it is, whoever wrote it.
  }
}

/** `"llm": {"model": "x"}` is `"llm_model": "x"`. */
function llmEntries(given: unknown): [string, unknown][] {
  if (typeof given === "object" && given !== null && !Array.isArray(given))
    return Object.entries(given).map(([key, value]) => [`llm_${key}`, value]);
  throw new MidwatchError("BAD_CONFIG", "llm in midwatch.config.json is not an object.", {
    hint: 'Write it as {"llm": {"provider": "anthropic"}}.',
  });
}

/** Names that older setups know. */
export const SEED_VARIABLES: Readonly<Record<string, readonly [ConfigKey, "seconds" | "as it is"]>> = {
  CLEANUP_GRACE_PERIOD: ["grace", "seconds"],
  CLEANUP_PS_TIMEOUT: ["scan_timeout", "seconds"],
  CLEANUP_ARCHIVE_DIR: ["archive_dir", "as it is"],
  CLEANUP_ZOMBIE_LIMIT: ["left_shown", "as it is"],
};

function envEntries(env: Readonly<Record<string, string | undefined>>): [string, string, string][] {
  const known = new Map(CONFIG_KEYS.map((key) => [envName(key), key]));
  const entries: [string, string, string][] = [];
  for (const [name, [key, kind]] of Object.entries(SEED_VARIABLES)) {
    const value = env[name]?.trim();
    if (!value) continue;
    if (kind === "seconds" && !/^\d+(\.\d+)?$/.test(value))
      throw new MidwatchError("BAD_CONFIG", `${name}: ${JSON.stringify(value)} is not a number of seconds.`, {
        hint: `Use ${envName(key)}=5s instead.`,
      });
    entries.push([key, kind === "seconds" ? `${value}s` : value, name]);
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

const SCAN_LEAST_MS = 100;

function checkCleanup(config: Config): Config {
  const { archive_dir: name, scan_timeout: scanMs } = config;
  if (!isArchiveName(name))
    throw new MidwatchError(
      "BAD_CONFIG",
      `archive_dir ${JSON.stringify(name)} is not the name of a folder for archives.`,
      {
        hint: "It is one name in the task's folder, of a-z, 0-9, _ and -, and none that midwatch uses itself.",
      },
    );
  if (scanMs < SCAN_LEAST_MS)
    throw new MidwatchError("BAD_CONFIG", `scan_timeout is ${scanMs} ms.`, {
      hint: "A search that takes no time finds nobody: it must be at least 100ms.",
    });
  return config;
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

function checkZone(config: Config): Config {
  const { time_zone: zone } = config;
  try {
    if (zone !== "") new Intl.DateTimeFormat("en-US", { timeZone: zone });
    return config;
  } catch {
    throw new MidwatchError("BAD_CONFIG", `time_zone ${JSON.stringify(zone)} is not a time zone.`, {
      hint: didYouMean(zone, Intl.supportedValuesOf("timeZone"), "Write it as Europe/Berlin or America/New_York."),
    });
  }
}

function isApiAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

/** MIDWATCH_DISK_WARN for disk_warn. */
export function envName(key: ConfigKey): string {
  return `MIDWATCH_${key.toUpperCase()}`;
}

function configHint(key: ConfigKey): string {
  const { kind, default: standard }: ConfigField = CONFIG_FIELDS[key];
  const values = typeof kind === "string" ? `a ${kind}` : kind.join(" or ");
  return `${key} takes ${values}; the default is ${standard}.`;
}
