import { describe, expect, it } from "vitest";
import { stricterBounds } from "../core/config/stricter.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { IntentFact, Permission } from "../core/intent.ts";
import { type Above, permissionBelow, rightsOf, type Wish } from "./rights-plan.ts";

const NONE = { output_bytes: 0, wall_ms: 0, idle_ms: 0, tokens: 0, cost_usd: 0 };
const above = (permission: Permission, more: Partial<Above> = {}): Above => ({
  agent: "lead-1" as AgentId,
  permission,
  driver: "claude",
  task: "TASK-1" as TaskId,
  cwd: "/p",
  limits: NONE,
  limit_policy: "stop",
  ...more,
});
const wish = (more: Partial<Wish> = {}): Wish => ({ driver: "claude", declared: false, cwd: "/p", ...more });
const refused = (what: string) =>
  expect.objectContaining({ code: "REFUSED_RIGHT", message: expect.stringContaining(what) });

describe("the permission of a child", () => {
  const ORDER: Permission[] = ["plan", "ask", "edit", "all"];

  it.each(ORDER)("of one with %s is at most that", (parent) => {
    for (const asked of ORDER) {
      const give = () => permissionBelow([above(parent)], wish({ permission: asked }));
      if (ORDER.indexOf(asked) <= ORDER.indexOf(parent)) expect(give()).toBe(asked);
      else expect(give).toThrow(refused(`the permission ${asked}`));
    }
  });

  it.each<[Permission, Permission]>([
    ["plan", "plan"],
    ["ask", "ask"],
    ["edit", "ask"],
    ["all", "ask"],
  ])("that is not told, below %s, is %s", (parent, expected) =>
    expect(permissionBelow([above(parent)], wish())).toBe(expected),
  );

  it("of a person is what was asked for", () => {
    expect(permissionBelow([], wish({ permission: "all", driver: "command", args: ["x"], cwd: "/" }))).toBe("all");
    expect(permissionBelow([], wish())).toBe("ask");
  });

  it("is bounded by each of those above", () => {
    expect(permissionBelow([above("all"), above("plan")], wish())).toBe("plan");
    expect(() => permissionBelow([above("all"), above("plan")], wish({ permission: "ask" }))).toThrow(refused("ask"));
  });

  it("is named in the refusal", () =>
    expect(() => permissionBelow([above("edit")], wish({ permission: "all" }))).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("edit"), exitCode: 4 }),
    ));
});

const MORE: [string, Partial<Wish>][] = [
  ["a command", { driver: "command" }],
  ["the driver", { driver: "mine", declared: true }],
  ["further arguments", { args: ["--dangerously-skip-permissions"] }],
  ["an input file", { stdin: "/etc/passwd" }],
  ["an environment file", { envFile: ".env" }],
  ["the task", { task: "TASK-2" as TaskId }],
  ["the folder", { cwd: "/other" }],
  ["the folder", { cwd: "/" }],
  ["the folder", { cwd: "/project-beside" }],
];

describe.each(MORE)("%s", (what, more) => {
  it.each<Permission>(["plan", "ask", "edit"])(`is refused below %s: ${JSON.stringify(more)}`, (parent) =>
    expect(() => permissionBelow([above(parent)], wish(more))).toThrow(refused(what)),
  );
  it(`is given below all: ${JSON.stringify(more)}`, () =>
    expect(permissionBelow([above("all")], wish(more))).toBe("ask"));
});

it("its own folder, one below it, its own task and its own driver are no more than it has", () => {
  for (const more of [{ cwd: "/p/sub" }, { task: "TASK-1" as TaskId }, { driver: "codex" }, { args: [] }])
    expect(permissionBelow([above("edit")], wish(more))).toBe("ask");
  expect(permissionBelow([above("edit", { driver: "mine" })], wish({ driver: "mine", declared: true }))).toBe("ask");
  expect(permissionBelow([above("edit", { cwd: "/" })], wish({ cwd: "/anything" }))).toBe("ask");
});

it("a command counts as one that may do everything, whatever its permission says", () => {
  const intent = { driver: "command", permission: "plan", cwd: "/p", limits: NONE, limit_policy: "stop" } as IntentFact;
  expect(rightsOf(intent).permission).toBe("all");
  expect(rightsOf({ ...intent, driver: "codex" }).permission).toBe("plan");
});

it("limits are the lower of both, and the policy the stricter", () => {
  const one = { limits: { ...NONE, wall_ms: 5, tokens: 7 }, limit_policy: "notify" } as const;
  const other = { limits: { ...NONE, wall_ms: 9, cost_usd: 2 }, limit_policy: "interrupt" } as const;
  expect(stricterBounds(one, other)).toEqual({
    limits: { ...NONE, wall_ms: 5, tokens: 7, cost_usd: 2 },
    limit_policy: "interrupt",
  });
});
