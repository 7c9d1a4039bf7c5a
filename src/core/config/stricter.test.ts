import { expect, it } from "vitest";
import { type ConfigInput, loadConfig } from "./config.ts";
import { lowerLimit, stricter } from "./stricter.ts";

const persons: ConfigInput = {
  wall_limit: "10m",
  output_limit: "2GiB",
  token_limit: 1000,
  max_children: 3,
  limit_policy: "interrupt",
  disk_floor: "64M",
  worktree_setup: "npm ci",
};

it.each<[string, ConfigInput, Partial<ReturnType<typeof loadConfig>>]>([
  ["more time", { wall_limit: "20m" }, { wall_limit: 600_000 }],
  ["no limit of time at all", { wall_limit: 0 }, { wall_limit: 600_000 }],
  ["less time", { wall_limit: "1m" }, { wall_limit: 60_000 }],
  ["a limit where there was none", { cost_limit: 2 }, { cost_limit: 2 }],
  ["more tokens", { token_limit: 1e9 }, { token_limit: 1000 }],
  ["more output, and all of it", { output_limit: 0 }, { output_limit: 2 ** 31 }],
  ["more children", { max_children: 100 }, { max_children: 3 }],
  ["fewer children", { max_children: 0 }, { max_children: 0 }],
  [
    "deeper, more, faster",
    { max_depth: 99, max_agents: 9999, child_rate: 999 },
    { max_depth: 5, max_agents: 1000, child_rate: 30 },
  ],
  [
    "a fuller disk",
    { disk_floor: 0, disk_refuse: 1, disk_warn: 2 },
    { disk_floor: 64 << 20, disk_refuse: 100 << 20, disk_warn: 500 << 20 },
  ],
  ["a milder policy", { limit_policy: "notify" }, { limit_policy: "interrupt" }],
  ["a stricter policy", { limit_policy: "stop" }, { limit_policy: "stop" }],
  [
    "a program, a file, an address",
    { worktree_setup: "sh evil", prompt_template: "/etc/passwd", sync_remote: "./x", nats_servers: "nats://x" },
    { worktree_setup: "npm ci", prompt_template: "", sync_remote: "", nats_servers: "" },
  ],
  ["what bounds nothing", { grace: "1s" }, { grace: 1000 }],
])("an agent asks for %s", (_, asked, expected) => {
  const base = loadConfig({ flags: persons });
  expect(stricter(base, loadConfig({ flags: { ...persons, ...asked } }))).toMatchObject(expected);
});

it("0 is no limit", () =>
  expect([lowerLimit(0, 0), lowerLimit(0, 5), lowerLimit(5, 0), lowerLimit(5, 3)]).toEqual([0, 5, 5, 3]));
