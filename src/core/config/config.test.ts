import { describe, expect, it } from "vitest";
import { MidwatchError } from "../errors.ts";
import { loadConfig } from "./config.ts";
import { configDocument } from "./config-document.ts";
import { CONFIG_KEYS } from "./config-fields.ts";

function refusal(act: () => unknown): MidwatchError {
  try {
    act();
  } catch (error) {
    if (error instanceof MidwatchError) return error;
  }
  throw new Error("was not refused");
}

describe("config", () => {
  it("has defaults for everything and cannot be changed", () => {
    const config = loadConfig();
    expect(config).toEqual({
      disk_warn: 500 * 1024 ** 2,
      disk_refuse: 100 * 1024 ** 2,
      disk_floor: 64 * 1024 ** 2,
      disk_policy: "hold",
      output_limit: 0,
      sync: "interval",
      grace: 5000,
      stop_files: "auto",
      done_silence: 10_000,
      archive_dir: "archive",
      scan_timeout: 10_000,
      left_shown: 3,
      archive_after: 86_400_000,
      time_zone: "",
      tier: "auto",
      max_agents: 1000,
      max_depth: 5,
      max_children: 20,
      child_rate: 30,
      wall_limit: 0,
      idle_limit: 0,
      token_limit: 0,
      cost_limit: 0,
      limit_policy: "stop",
      companion: "auto",
      max_running: 8,
      prune_after: 1_209_600_000,
      prune_over: 5_368_709_120,
      runs_kept: 20,
      runs_kept_size: 5_368_709_120,
      trash_for: 86_400_000,
      snapshot_keep: 3,
      leader_ttl: 10_000,
      pause: "auto",
      watch_poll: 12_000,
      watch_lines: 200,
      watch_backoff: 10_000,
      watch_streaming: "on",
      opinion: "off",
      opinion_per_day: 24,
      llm_provider: "off",
      llm_base_url: "",
      llm_model: "claude-haiku-4-5",
      llm_key_env: "",
      llm_key_file: "",
      llm_every: 300_000,
      llm_tokens_per_hour: 40_000,
      llm_timeout: 30_000,
      sync_remote: "",
      sync_branch: "midwatch-journal",
      sync_every: 30_000,
      nats_servers: "",
      nats_fleet: "fleet",
      nats_host: "",
      nats_labels: "",
      nats_creds: "",
      nats_nkey: "",
      nats_people: "",
      nats_ca: "",
      nats_cert: "",
      nats_key: "",
      nats_monitor: "",
      nats_logs: "off",
      nats_keep: 2_592_000_000,
      nats_keep_bytes: 10_737_418_240,
      worktree_copy: "",
      worktree_setup: "",
      prompt_template: "",
      prices_file: "",
      interactive_idle: 60_000,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("goes default < file < environment < flag", () => {
    const file = { grace: "1s", sync: "none", max_agents: 7 };
    const env = { MIDWATCH_GRACE: "2s", MIDWATCH_MAX_AGENTS: "8" };
    const config = loadConfig({ file, env, flags: { grace: "3s" } });
    expect([config.grace, config.sync, config.max_agents, config.tier]).toEqual([3000, "none", 8, "auto"]);
    expect(loadConfig({ env, flags: { grace: undefined } }).grace).toBe(2000);
  });

  it("refuses unknown names with the nearest known one", () => {
    expect(refusal(() => loadConfig({ file: { disk_wran: "1G" } })).hint).toBe("Did you mean disk_warn?");
    const error = refusal(() => loadConfig({ env: { MIDWATCH_GRACEE: "1s" } }));
    expect([error.exitCode, error.message, error.hint]).toEqual([
      2,
      "The variable MIDWATCH_GRACEE is not known.",
      "Did you mean MIDWATCH_GRACE?",
    ]);
    expect(refusal(() => loadConfig({ file: [] })).message).toContain("does not hold an object");
  });

  it("accepts the variables of a run, empty variables and $schema", () => {
    const env = {
      MIDWATCH_WORKSPACE: "/x",
      MIDWATCH_AGENT: "a",
      MIDWATCH_RUN: "1",
      MIDWATCH_NONCE: "0",
      MIDWATCH_KEEPER: "k",
      MIDWATCH_WATCHBENCH: "/data",
    };
    expect(loadConfig({ env: { ...env, MIDWATCH_GRACE: "" }, file: { $schema: "x" } })).toEqual(loadConfig());
  });

  it("says what is wrong with a value of each kind", () => {
    const said = (file: Record<string, unknown>): string => refusal(() => loadConfig({ file })).message;
    expect(said({ sync: 7 })).toBe(
      'sync in midwatch.config.json: Invalid option: expected one of "interval"|"none"|"always"',
    );
    for (const value of [{}, null, true, [1]])
      for (const key of ["grace", "disk_warn", "max_agents", "cost_limit", "worktree_copy"])
        expect(said({ [key]: value })).toBe(`${key} in midwatch.config.json: Invalid input`);
    expect(said({ max_agents: 1.5 })).toContain("1.5 is not a whole number from 0 up.");
    expect(said({ max_agents: "" })).toContain('"" is not a whole number from 0 up.');
    expect(said({ cost_limit: -1 })).toContain("-1 is not an amount such as 2.50.");
    expect(loadConfig({ file: { worktree_copy: 5, cost_limit: " 2.5 ", max_agents: " 7 " } })).toMatchObject({
      ...{ worktree_copy: "5", cost_limit: 2.5, max_agents: 7 },
    });
  });

  it("names the place of a bad value", () => {
    expect(refusal(() => loadConfig({ env: { MIDWATCH_GRACE: "-5s" } })).message).toMatch(
      /^MIDWATCH_GRACE: "-5s" is not/,
    );
    expect(refusal(() => loadConfig({ flags: { disk_warn: "lots" } })).message).toMatch(/^--disk-warn: "lots" is not/);
    expect(refusal(() => loadConfig({ file: { sync: "often" } })).message).toMatch(/^sync in midwatch.config.json/);
    expect(refusal(() => loadConfig({ file: { max_depth: 1.5 } })).message).toMatch(/^max_depth in/);
    expect(refusal(() => loadConfig({ file: { grace: { ms: 5 } } })).message).toMatch(/^grace in/);
  });

  it("wants floor < refuse < warn", () => {
    for (const flags of [{ disk_floor: "100M" }, { disk_refuse: "500M" }, { disk_warn: "1M" }]) {
      expect(refusal(() => loadConfig({ flags })).exitCode).toBe(2);
    }
  });

  it("reads llm as an object, and never repeats a key that was put in the wrong place", () => {
    const file = { llm: { provider: "anthropic", every: "10m" } };
    const config = loadConfig({ file, env: { MIDWATCH_LLM_MODEL: "other" } });
    expect([config.llm_provider, config.llm_every, config.llm_model]).toEqual(["anthropic", 600_000, "other"]);
    expect(refusal(() => loadConfig({ file: { llm: { modle: "x" } } })).hint).toBe("Did you mean llm_model?");
    expect(refusal(() => loadConfig({ file: { llm: "anthropic" } })).message).toContain("not an object");
    const key = "sk-ant-api03-abcdefghijklmnop";
    for (const llm of [
      { key_env: key },
      { key },
      { base_url: `https://me:${key}@host/v1` },
      { base_url: `https://host/v1?key=${key}` },
      { provider: key },
      { timeout: key },
    ])
      expect(JSON.stringify(refusal(() => loadConfig({ file: { llm } })))).not.toContain(key);
    const env = { MIDWATCH_LLM_KEY: key };
    expect(JSON.stringify(refusal(() => loadConfig({ env })))).not.toContain(key);
  });

  it("R-004.10: knows the CLEANUP_ variables", () => {
    expect(loadConfig({ env: { CLEANUP_GRACE_PERIOD: "7.5" } }).grace).toBe(7500);
    expect(loadConfig({ env: { CLEANUP_GRACE_PERIOD: "7", MIDWATCH_GRACE: "1s" } }).grace).toBe(1000);
    expect(refusal(() => loadConfig({ env: { CLEANUP_GRACE_PERIOD: "soon" } })).exitCode).toBe(2);
    const others = { CLEANUP_PS_TIMEOUT: "2.5", CLEANUP_ARCHIVE_DIR: "old", CLEANUP_ZOMBIE_LIMIT: "7" };
    const config = loadConfig({ env: others });
    expect([config.scan_timeout, config.archive_dir, config.left_shown]).toEqual([2500, "old", 7]);
    expect(loadConfig({ env: { ...others, MIDWATCH_LEFT_SHOWN: "1" } }).left_shown).toBe(1);
    for (const CLEANUP_ARCHIVE_DIR of [
      "/a",
      "..",
      ".",
      "a/b",
      "logs",
      "runs",
      "Old",
      "-x",
      "a.b",
      "agent_prompt_x",
      "x".repeat(65),
    ])
      expect(refusal(() => loadConfig({ env: { CLEANUP_ARCHIVE_DIR } })).message).toMatch(
        /^archive_dir ".*" is not the name/,
      );
    for (const CLEANUP_PS_TIMEOUT of ["0", "0.05"])
      expect(refusal(() => loadConfig({ env: { CLEANUP_PS_TIMEOUT } })).message).toContain("scan_timeout is");
    expect(refusal(() => loadConfig({ env: { CLEANUP_ZOMBIE_LIMIT: "many" } })).message).toContain(
      "CLEANUP_ZOMBIE_LIMIT",
    );
    for (const name of Object.keys(others)) expect(configDocument()).toMatch(new RegExp(`${name}.*The same as `));
  });

  it("is documented", async () => {
    for (const key of CONFIG_KEYS) expect(configDocument()).toContain(`\`${key}\``);
    await expect(configDocument()).toMatchFileSnapshot("../../../docs/config.md");
  });
});
