/** `midwatch up` as a service of the user, one for each workspace: a unit of systemd, on macOS an agent of launchd (which nobody ran). */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { makeFolders } from "../disk/make-folders.ts";
import { readText, replace } from "../disk/replace.ts";
import { lastingPath, lastingWords } from "../process/lasting.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Service {
  name: string;
  path: string;
  unit: string;
  /** What a person types to begin with it. */
  enable: string;
}

export const MARK = "Written by `midwatch up --install-service`.";

/** What the unit is and where it belongs; nothing is written. */
export function service(
  root: string,
  flags: readonly string[],
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Service {
  const project = dirname(root);
  const word =
    basename(project)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .slice(0, 40) || "workspace";
  const label = `midwatch-${word}-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`;
  const command = lastingWords(["up", "--workspace", root, ...flags], env);
  const folder = serviceFolder(env, platform);
  if (platform === "darwin") {
    const path = join(folder, `${label}.plist`);
    return {
      name: label,
      path,
      unit: plist(label, command, project, lastingPath(env)),
      enable: `launchctl bootstrap gui/$(id -u) ${path}`,
    };
  }
  const name = `${label}.service`;
  const enable = `systemctl --user daemon-reload && systemctl --user enable --now ${name}`;
  return { name, path: join(folder, name), unit: systemdUnit(command, project, lastingPath(env)), enable };
}

/** Where the services of this user are. */
export function serviceFolder(env: Env, platform: NodeJS.Platform = process.platform): string {
  const home = env["HOME"] || homedir();
  if (platform === "darwin") return join(home, "Library", "LaunchAgents");
  const config = env["XDG_CONFIG_HOME"] ?? "";
  return join(isAbsolute(config) ? config : join(home, ".config"), "systemd", "user");
}

function systemdUnit(command: readonly string[], project: string, path: string): string {
  return `# ${MARK}
[Unit]
Description=midwatch in ${specifiers(project)}

[Service]
ExecStart=${command.map((word) => quoted(word.replaceAll("$", "$$$$"))).join(" ")}
WorkingDirectory=${specifiers(project)}
# As it was where this was written: agent CLIs are looked for in it.
Environment=${quoted(`PATH=${path}`)}
Restart=on-failure
RestartSec=2
# Only midwatch itself is ended with the service: agents and their keepers go on.
KillMode=process
# An agent that runs out of memory is no reason to end it.
OOMPolicy=continue
# Each run gets a control group of its own, where its end can be proven.
Delegate=yes

[Install]
WantedBy=default.target
`;
}

function plist(label: string, command: readonly string[], project: string, path: string): string {
  const text = (value: string): string =>
    `<string>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</string>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${MARK} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${text(label)}
  <key>ProgramArguments</key><array>${command.map(text).join("")}</array>
  <key>WorkingDirectory</key>${text(project)}
  <key>EnvironmentVariables</key><dict><key>PATH</key>${text(path)}</dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <!-- Only midwatch itself is ended with the service: agents and their keepers go on. -->
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
`;
}

export function writeService({ path, unit }: Service): void {
  const before = readText(path);
  if (before !== undefined && !before.includes(MARK))
    throw new MidwatchError("REFUSED_FILE", `${path} was not written by midwatch.`, { hint: "Move it away first." });
  makeFolders(dirname(path));
  replace(path, unit);
}

/** systemd replaces % everywhere, and $ in a command. */
function quoted(word: string): string {
  const escaped = specifiers(word).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

function specifiers(text: string): string {
  return text.replaceAll("%", "%%");
}
