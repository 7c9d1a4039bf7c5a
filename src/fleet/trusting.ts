/** What a person lets act here: the workspace itself, and the settings of its configuration that could do harm. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { guardedSettings } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { maskText } from "../core/mask/mask.ts";
import { isOver } from "../core/phase.ts";
import { oneLine } from "../core/text/one-line.ts";
import type { ListRecord, Phase } from "../core/types.ts";
import { setOnlyRead } from "../disk/guard/only-read.ts";
import { StateFolder } from "../disk/guard/state-folder.ts";
import { readText } from "../disk/replace.ts";
import { locate } from "../facts/locate.ts";
import { recordWaiting } from "../messages/kept-messages.ts";
import { keepersAbove } from "../process/identity.ts";
import { list } from "../run/list.ts";
import { type ConfigTrust, modulesOf, readConfig, trustConfig } from "../trust/config-trust.ts";
import { recordLater } from "../trust/later.ts";
import { takeOver } from "../trust/workspace-trust.ts";
import { assertPerson } from "../workspace/caller.ts";
import { HoldsContext } from "./holds-context.ts";

/** What would act, and whether it may. */
export interface TrustRecord {
  workspace: string;
  /** It was made by you, on this machine, at this place; otherwise it is only read. */
  ours: boolean;
  /** Why it is only read. */
  why: string | null;
  /** What lives in it now, and what waits to be started. */
  runs: { agent: AgentId; phase: Phase; queued: boolean; command: string }[];
  /** Null when there is no configuration. */
  config: TrustedConfig | null;
}

/** A configuration, and what in it counts only when it is trusted. */
export interface TrustedConfig {
  path: string;
  /** For MIDWATCH_TRUST. */
  sha256: string;
  trusted: boolean;
  settings: { name: string; value: string }[];
  /** Driver modules that it names: their code runs in midwatch. */
  modules: { path: string; trusted: boolean }[];
}

const SHOWN = 200;

export class Trusting extends HoldsContext {
  /** What would act here, and whether it may. */
  async look(): Promise<TrustRecord> {
    const { layout, trust } = this.context;
    const { why } = trust.ownership;
    return {
      workspace: layout.root,
      ours: why === undefined,
      why: why ?? null,
      runs: (await this.#open()).map(({ agent, phase, queued }) => ({
        agent,
        phase,
        queued,
        command: this.#command(agent),
      })),
      config: describeConfig(trust.config),
    };
  }

  /** Lets the configuration act as it is now. A change of the file, or of a module that it names, takes that back. */
  config(): void {
    assertPerson(this.context, "trust a configuration");
    const { config, state } = this.context.trust;
    if (config.sha256 === undefined) throw noConfig(config.path);
    trustConfig(config, state, this.context.env);
  }

  /** Takes the workspace over: from the next time that it is opened, what is in it acts, and what is queued is started. */
  async workspace(): Promise<void> {
    assertPerson(this.context, "take a workspace over");
    const { layout, trust } = this.context;
    for (const { agent, queued } of await this.#open()) {
      if (!queued) continue;
      const { intent } = locate(this.context, agent).paths;
      const text = readText(intent);
      if (text !== undefined)
        recordLater(trust.state, intent, text, `${agent} was queued when its workspace was taken over`);
    }
    recordWaiting(this.context);
    setOnlyRead(layout.root, false);
    takeOver(layout, trust.state);
  }

  async #open(): Promise<ListRecord[]> {
    return (await list(this.context, { all: true })).filter((one) => !isOver(one));
  }

  #command(agent: AgentId): string {
    const { intent } = locate(this.context, agent).facts;
    return maskText(oneLine(intent?.prompt ?? intent?.argv.join(" ") ?? "", SHOWN));
  }
}

/** Null when there is no such file. */
function describeConfig(config: ConfigTrust): TrustedConfig | null {
  const { path, value, sha256, trusted } = config;
  if (sha256 === undefined) return null;
  const given = flat(value);
  return {
    path,
    sha256,
    trusted,
    settings: guardedSettings(value).map((name) => ({
      name,
      value: maskText(oneLine(JSON.stringify(given[name]) ?? "", SHOWN)),
    })),
    modules: modulesOf(path, value).map((module) => ({ path: module, trusted: config.trustsModule(module) })),
  };
}

function flat(value: unknown): Record<string, unknown> {
  const { llm, ...rest } = (value ?? {}) as Record<string, unknown>;
  const inner = typeof llm === "object" && llm !== null ? Object.entries(llm) : [];
  return { ...rest, ...Object.fromEntries(inner.map(([key, one]) => [`llm_${key}`, one])) };
}

function noConfig(path: string): MidwatchError {
  return new MidwatchError("NOT_FOUND_FILE", `There is no configuration at ${path}: nothing has to be trusted.`, {
    hint: "`midwatch trust --workspace` is about the workspace itself.",
  });
}

/** For a project that has no workspace yet: its configuration, trusted now unless it is only to be shown. */
export function trustProject(folder: string, env: NodeJS.ProcessEnv, show: boolean): TrustedConfig {
  const path = join(realpathSync(folder), "midwatch.config.json");
  const state = new StateFolder(env);
  const read = (): ConfigTrust => readConfig(path, state, () => []);
  if (!show) {
    if (keepersAbove().length > 0)
      throw new MidwatchError("REFUSED_RIGHT", "An agent may not trust a configuration.", {
        hint: "Ask the person who started it.",
      });
    trustConfig(read(), state, env);
  }
  const described = describeConfig(read());
  if (described === null) throw noConfig(path);
  return described;
}
