/**
 * midwatch.config.json comes with the project, and whoever may edit the project may edit it. What runs code, reaches the network or reads
 * secrets counts only when a person trusted the file as it is: path and SHA-256 stand in the state folder. A changed file is untrusted again.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { guardedSettings } from "../core/config/config.ts";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import { errno } from "../disk/fault.ts";
import { assertOwner } from "../disk/guard/owner.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";

/** configs/<SHA-256 of the path>.json in the state folder. */
interface ConfigRecord {
  v: 1;
  path: string;
  sha256: string;
  /** Modules that the file names, by path: their code runs in midwatch too. */
  modules: Record<string, string>;
  /** `budget` of the file: a limit stays one when somebody edits the file or takes it away. */
  budget?: unknown;
  trusted_at: string;
}

export interface ConfigTrust {
  path: string;
  /** Parsed; undefined when there is no such file. */
  value: unknown;
  sha256: string | undefined;
  trusted: boolean;
  /** Settings of the file that do not count because nobody trusted it. */
  ignored: readonly string[];
  /** Whether the code of this module is what the person trusted. */
  trustsModule(path: string): boolean;
}

const MOST_BYTES = 1 << 20;

/** `given` are hashes from MIDWATCH_TRUST; empty inside a run. */
export function readConfig(path: string, state: StateFolder, given: () => readonly string[]): ConfigTrust {
  const bytes = readBytes(path);
  if (bytes === undefined)
    return { path, value: undefined, sha256: undefined, trusted: true, ignored: [], trustsModule: () => false };
  const value = parsed(path, bytes);
  const sha256 = sha256Of(bytes);
  const guarded = guardedSettings(value);
  // Most files have nothing that needs trust; then nobody has to be asked.
  const record = guarded.length === 0 ? undefined : state.read<ConfigRecord>("configs", sha256Of(path));
  const allowed = guarded.length === 0 ? [] : given();
  const trusted = guarded.length === 0 || record?.sha256 === sha256 || allowed.includes(sha256);
  const trustsModule = (module: string): boolean => {
    const now = readBytes(module);
    const sum = now && sha256Of(now);
    return sum !== undefined && (record?.modules?.[module] === sum || allowed.includes(sum));
  };
  return { path, value, sha256, trusted, ignored: trusted ? [] : guarded, trustsModule };
}

/** A person said so. */
export function trustConfig({ path, value, sha256 }: ConfigTrust, state: StateFolder, env: NodeJS.ProcessEnv): void {
  if (sha256 === undefined) return;
  assertOwner(path, "The configuration", env);
  const modules: Record<string, string> = {};
  for (const module of modulesOf(path, value)) {
    assertOwner(module, "The driver module", env);
    const bytes = readBytes(module);
    if (bytes !== undefined) modules[module] = sha256Of(bytes);
  }
  const { budget } = (value ?? {}) as { budget?: unknown };
  const record: ConfigRecord = { v: 1, path, sha256, modules, budget, trusted_at: iso() };
  state.write("configs", sha256Of(path), record);
}

/** `budget` of the file at `path` as a person trusted it last, whatever has become of the file since. */
export function trustedBudget(path: string, state: StateFolder): { budget: unknown; at: string } | undefined {
  const { budget, trusted_at: at } = state.read<ConfigRecord>("configs", sha256Of(path)) ?? {};
  return budget === undefined || at === undefined ? undefined : { budget, at };
}

/** The driver modules that a configuration names, as absolute paths. */
export function modulesOf(path: string, value: unknown): string[] {
  const { drivers } = (value ?? {}) as { drivers?: unknown };
  const named = typeof drivers === "object" && drivers !== null ? Object.values(drivers) : [];
  return named.flatMap((one) => (typeof one === "string" ? [resolve(dirname(path), one)] : []));
}

/** What the file is, for a person who is asked to trust it. */
export function sha256Of(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function readBytes(path: string): Buffer | undefined {
  try {
    if (statSync(path).size <= MOST_BYTES) return readFileSync(path);
    throw new MidwatchError("BAD_CONFIG", `${path} is larger than ${MOST_BYTES} bytes.`, { hint: "Make it smaller." });
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return undefined;
    if (error instanceof MidwatchError) throw error;
    throwIfExhausted(error);
    throw new MidwatchError("BAD_CONFIG", `${path}: ${error instanceof Error ? error.message : String(error)}`, {
      hint: "Mend or remove the file.",
    });
  }
}

function parsed(path: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new MidwatchError("BAD_CONFIG", `${path}: ${error instanceof Error ? error.message : String(error)}`, {
      hint: "Mend or remove the file.",
    });
  }
}
