/** What `doctor` looks at. Each check answers with a state and a sentence; none of them throws. */
import { toMidwatchError } from "./core/errors.ts";
import { formatSize } from "./core/size.ts";
import { freeSpace } from "./disk/free-space.ts";
import { assertWritable } from "./disk/workspace.ts";
import { DRIVERS, readVersion } from "./drivers/index.ts";
import type { Workspace } from "./fleet.ts";
import { probeTier } from "./process/keeper.ts";
import { keeperBinary } from "./process/keeper-binary.ts";
import { toolVersion } from "./process/tool.ts";

export interface Check {
  check: string;
  state: "ok" | "warning" | "failed";
  message: string;
}

export function examine(
  workspace: Workspace | undefined,
  env: Readonly<Record<string, string | undefined>>,
  rebuild: boolean,
): Check[] {
  const checks: Check[] = [];
  const add = (check: string, look: () => [Check["state"], string]): void => {
    try {
      const [state, message] = look();
      checks.push({ check, state, message });
    } catch (error) {
      const { message, hint } = toMidwatchError(error);
      checks.push({ check, state: "failed", message: hint ? `${message} ${hint}` : message });
    }
  };
  add("node", () => ["ok", process.version]);
  add("keeper", () => {
    const { path, from } = keeperBinary(env as NodeJS.ProcessEnv);
    return ["ok", `${path} (${from})`];
  });
  add("tier", () =>
    probeTier() === "cgroup"
      ? ["ok", "cgroup v2: a run can be ended as a whole by the kernel"]
      : ["warning", "subreaper: no cgroup v2 leaf can be made here; stops are still proven"],
  );
  add("tmux", () => {
    const version = toolVersion("tmux", "-V");
    return version ? ["ok", version] : ["warning", "not found: `midwatch attach` will follow the log instead"];
  });
  for (const driver of DRIVERS.filter(({ program }) => program !== null)) {
    add(`driver ${driver.name}`, () => {
      const text = toolVersion(driver.program as string, "--version", env as NodeJS.ProcessEnv);
      if (text === undefined) return ["ok", `not installed${driver.install ? ` (${driver.install})` : ""}`];
      const { version, known } = readVersion(driver, text);
      if (version === null) return ["warning", `says no version: ${text.slice(0, 80)}`];
      const old = driver.legacy ? "; a legacy CLI" : "";
      return known ? ["ok", `${version}${old}`] : ["warning", `${version}: midwatch was not tried with it${old}`];
    });
  }
  if (workspace === undefined) {
    checks.push({ check: "workspace", state: "warning", message: "none here yet; `midwatch run` makes one" });
    return checks;
  }
  add("workspace", () => {
    assertWritable(workspace.root);
    return ["ok", workspace.root];
  });
  add("disk", () => {
    const { bytes } = freeSpace(workspace.root);
    const { disk_warn, disk_refuse } = workspace.config;
    const state = bytes < disk_refuse ? "failed" : bytes < disk_warn ? "warning" : "ok";
    return [state, `${formatSize(bytes)} free`];
  });
  add("alerts", () => {
    const { routes, problems } = workspace.checkAlerts();
    if (problems.length > 0) return ["warning", problems.join(" ")];
    return ["ok", routes === 0 ? "no routes (docs/alerts.md); the bell where `up` has a terminal" : `${routes} routes`];
  });
  add("registry", () => {
    const made = rebuild ? workspace.rebuild() : undefined;
    const problems = workspace.checkRegistry();
    if (problems.length > 0) return ["failed", `${problems[0]}; \`midwatch doctor --rebuild\` makes it anew`];
    return ["ok", made ? `rebuilt: ${made.tasks} tasks, ${made.agents} agents, ${made.runs} runs` : "sound"];
  });
  return checks;
}
