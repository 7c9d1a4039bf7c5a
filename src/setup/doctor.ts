/** What `doctor` looks at. Each check answers with a state and a sentence; none of them throws. */
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import { formatSize } from "../core/size.ts";
import type { Guarantee } from "../core/types.ts";
import { freeSpace } from "../disk/free-space.ts";
import { StateFolder } from "../disk/guard/state-folder.ts";
import { assertWritable } from "../disk/workspace.ts";
import { DRIVERS, readVersion } from "../drivers/index.ts";
import type { Workspace } from "../fleet/workspace.ts";
import { probeTier } from "../process/keeper.ts";
import { keeperBinary } from "../process/keeper-binary.ts";
import { toolVersion } from "../process/tool.ts";
import { unitRisk } from "../process/unit.ts";
import { LISTED, type Prices } from "../spend/prices.ts";
import { sweep } from "../trust/sweep.ts";
import { installed } from "./installed.ts";

/** Where `midwatch up` serves unless it is told otherwise. */
const PORT = 4750;

export interface Check {
  check: string;
  state: "ok" | "warning" | "failed";
  message: string;
}

export const TIERS: Record<Guarantee, [Check["state"], string]> = {
  cgroup: ["ok", "cgroup v2: a run can be ended as a whole by the kernel"],
  subreaper: ["warning", "subreaper: no cgroup v2 leaf can be made here; stops are still proven"],
  scan: [
    "warning",
    "scan: this system gives orphans to nobody; a stop searches for them, which is evidence and no proof",
  ],
};

export async function examine(
  workspace: Workspace | undefined,
  env: Readonly<Record<string, string | undefined>>,
  rebuild: boolean,
): Promise<Check[]> {
  const checks: Check[] = [];
  type Answer = [Check["state"], string];
  const add = async (check: string, look: () => Answer | Promise<Answer>): Promise<void> => {
    try {
      const [state, message] = await look();
      checks.push({ check, state, message });
    } catch (error) {
      const { message, hint } = toMidwatchError(error);
      checks.push({ check, state: "failed", message: hint ? `${message} ${hint}` : message });
    }
  };
  await add("node", () => ["ok", process.version]);
  await add("keeper", () => {
    const { path, from } = keeperBinary(env as NodeJS.ProcessEnv);
    return ["ok", `${path} (${from})`];
  });
  await add("tier", () => TIERS[probeTier()]);
  await add("tmux", () => {
    const version = toolVersion("tmux", "-V");
    return version ? ["ok", version] : ["warning", "not found: `midwatch attach` will follow the log instead"];
  });
  for (const driver of DRIVERS.filter(({ program }) => program !== null)) {
    await add(`driver ${driver.name}`, () => {
      const text = toolVersion(driver.program as string, "--version", env as NodeJS.ProcessEnv);
      if (text === undefined) return ["ok", `not installed${driver.install ? ` (${driver.install})` : ""}`];
      const { version, known } = readVersion(driver, text);
      if (version === null) return ["warning", `says no version: ${text.slice(0, 80)}`];
      const old = driver.legacy ? "; a legacy CLI" : "";
      return known ? ["ok", `${version}${old}`] : ["warning", `${version}: midwatch was not tried with it${old}`];
    });
  }
  await add("unit", async () => {
    const up = workspace === undefined ? null : (await workspace.journal.leader()).pid;
    const risk = [["this shell", process.pid] as const, ...(up === null ? [] : [["midwatch up", up] as const])]
      .flatMap(([who, pid]) => unitRisk(pid)?.replace(/^/, `${who} `) ?? [])
      .join("; ");
    if (risk === "") return ["ok", "agents outlive what starts them"];
    return ["warning", `${risk}; \`midwatch up --install-service\` writes a unit that does not`];
  });
  await add("installed", () => {
    const all = installed(env);
    const stale = all.filter((one) => one.stale.length > 0);
    if (stale.length === 0)
      return ["ok", all.length === 0 ? "nothing outside the projects" : all.map(({ what }) => what).join(", ")];
    const told = stale.map(({ what, stale: [path] }) => `${what} names ${path}, which is not there to stay`).join("; ");
    return [
      "warning",
      `${told}: write it again (midwatch up --install-service, midwatch mcp install), or midwatch uninstall`,
    ];
  });
  await add("port", async () => {
    const server = await workspace?.http.proven();
    if (server !== undefined) return ["ok", `the dashboard is at ${server.url} (\`midwatch up --link\`)`];
    if (await isFree(PORT)) return ["ok", `${PORT} is free for the dashboard`];
    return ["warning", `${PORT} is in use: \`midwatch up\` takes the next one that is free, or --port N`];
  });
  await add("state folder", () => {
    const state = new StateFolder(env);
    // Of what an agent cannot see from its sandbox nobody knows whether it is gone.
    const swept = workspace?.isPersons() === false ? 0 : sweep(state);
    if (workspace !== undefined && isBelow(state.path, dirname(workspace.root)))
      return [
        "warning",
        `${state.path} is in the project, where agents can write: set XDG_STATE_HOME to another place`,
      ];
    return ["ok", swept === 0 ? state.path : `${state.path}; ${swept} records of what is gone were removed`];
  });
  await add("prices", () => pricesCheck(workspace?.verdicts.prices ?? LISTED, Date.now()));
  if (workspace === undefined) {
    checks.push({ check: "workspace", state: "warning", message: "none here yet; `midwatch run` makes one" });
    return checks;
  }
  await add("workspace", () => {
    assertWritable(workspace.root);
    return othersWrite(workspace.root) ?? ["ok", workspace.root];
  });
  await add("configuration", async () => {
    const { config } = await workspace.trust.look();
    if (config === null) return ["ok", "none: the defaults count"];
    if (!config.trusted) return ["warning", `${config.path} is not trusted, and counts only in part: midwatch trust`];
    return othersWrite(config.path) ?? ["ok", config.path];
  });
  await add("token", () => {
    const mode = modeOf(join(workspace.root, "http-token"));
    if (mode === undefined) return ["ok", "not made yet; `midwatch up` makes it"];
    if ((mode & 0o077) === 0) return ["ok", "only you can read it"];
    return [
      "failed",
      `others can read ${workspace.root}/http-token: remove it, and the next \`midwatch up\` makes a new one`,
    ];
  });
  await add("disk", () => {
    const { bytes } = freeSpace(workspace.root);
    const { disk_warn, disk_refuse } = workspace.config;
    const state = bytes < disk_refuse ? "failed" : bytes < disk_warn ? "warning" : "ok";
    return [state, `${formatSize(bytes)} free`];
  });
  await add("alerts", () => {
    const { routes, problems } = workspace.alerts.check();
    if (problems.length > 0) return ["warning", problems.join(" ")];
    return ["ok", routes === 0 ? "no routes (docs/alerts.md); the bell where `up` has a terminal" : `${routes} routes`];
  });
  if (workspace.config.nats_servers !== "" && workspace.isPersons())
    await add("fleet", async () => {
      const { examineFleet } = await import("./doctor-fleet.ts");
      const { settings, rosters } = workspace.up.fleetSettings();
      return await examineFleet(workspace.config, settings, rosters.kept());
    });
  await add("registry", () => {
    const made = rebuild ? workspace.rebuild() : undefined;
    const problems = workspace.checkRegistry();
    if (problems.length > 0) return ["failed", `${problems[0]}; \`midwatch doctor --rebuild\` makes it anew`];
    return ["ok", made ? `rebuilt: ${made.tasks} tasks, ${made.agents} agents, ${made.runs} runs` : "sound"];
  });
  return checks;
}

/** A price that has changed makes every estimate wrong, and with it every limit that rests on one. */
export function pricesCheck(prices: Prices, nowMs: number): [Check["state"], string] {
  if (prices.fault !== undefined) throw prices.fault;
  const stale = prices.stale(nowMs);
  const [oldest] = stale;
  if (oldest === undefined)
    return ["ok", `of ${prices.asOf} (estimates only; what a CLI tells of its cost counts first)`];
  const all = stale.length === 1 ? `the price of ${oldest.model} is` : `${stale.length} prices are`;
  return ["warning", `${all} older than 120 days (${oldest.date}): update midwatch, or set prices_file (docs/cost.md)`];
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** Of its group too: who is in that may change it as its owner can. */
function othersWrite(path: string): ["warning", string] | undefined {
  if (((modeOf(path) ?? 0) & 0o022) === 0) return undefined;
  return ["warning", `others than you can write ${path}: chmod go-w ${path}`];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
}
