/** The systemd unit that a process belongs to, and what its end does to what was started in it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface Unit {
  name: string;
  /** Of the user's own manager, not of the system's. */
  user: boolean;
}

/** From the text of /proc/PID/cgroup: version 2, or the hierarchy that systemd keeps beside version 1. */
export function unitOf(cgroups: string): Unit | undefined {
  const path = /^(?:0::|\d+:name=systemd:)(\/.+)$/m.exec(cgroups)?.[1];
  const parts = path?.split("/") ?? [];
  // The innermost: a delegated unit may have groups below it, the user's manager is a service itself.
  const name = parts.findLast((part) => /\.(service|scope)$/.test(part));
  if (name === undefined) return undefined;
  const user = parts.some((part) => /^user@\d+\.service$/.test(part)) && !/^user@\d+\.service$/.test(name);
  return { name, user };
}

/** What stands in the way of a keeper that should outlive the process; undefined when nothing does. */
export function unitRisk(pid: number, killMode: (unit: Unit) => string | undefined = askKillMode): string | undefined {
  let unit: Unit | undefined;
  try {
    unit = unitOf(readFileSync(`/proc/${pid}/cgroup`, "utf8"));
  } catch {
    return undefined;
  }
  return unit && riskOf(unit, killMode);
}

export function riskOf(unit: Unit, killMode: (unit: Unit) => string | undefined): string | undefined {
  if (unit.name.endsWith(".scope")) {
    // A login's scope ends by itself only where logind is told to (KillUserProcesses); that of systemd-run is made to be stopped.
    return unit.name.startsWith("run-")
      ? `is in ${unit.name} (systemd-run --scope), and whoever stops that ends its agents too`
      : undefined;
  }
  const mode = killMode(unit);
  if (mode === undefined || mode === "process" || mode === "none") return undefined;
  return `is in ${unit.name} with KillMode=${mode}, so that a stop or restart of the service ends its agents too`;
}

function askKillMode({ name, user }: Unit): string | undefined {
  const args = [...(user ? ["--user"] : []), "show", "--property=KillMode", "--value", name];
  const asked = spawnSync("systemctl", args, { encoding: "utf8", timeout: 5000 });
  return asked.status === 0 ? asked.stdout.trim() || undefined : undefined;
}

/** Ends a service of the user and takes it out of the list of those that start by themselves; its agents go on. */
export function endService(name: string): void {
  const options = { encoding: "utf8", timeout: 20_000 } as const;
  if (process.platform === "darwin")
    spawnSync("launchctl", ["bootout", `gui/${process.getuid?.()}/${name.replace(/\.plist$/, "")}`], options);
  else spawnSync("systemctl", ["--user", "disable", "--now", name], options);
}
