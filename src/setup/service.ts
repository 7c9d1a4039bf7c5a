/** `midwatch up` as a service of the user: one unit of systemd for each workspace. */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { makeFolders } from "../disk/make-folders.ts";
import { readText, replace } from "../disk/replace.ts";

export interface Service {
  name: string;
  path: string;
  unit: string;
}

const MARK = "# Written by `midwatch up --install-service`.";

/** What the unit is and where it belongs; nothing is written. */
export function service(
  root: string,
  flags: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Service {
  const project = dirname(root);
  const word =
    basename(project)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .slice(0, 40) || "workspace";
  const name = `midwatch-${word}-${createHash("sha256").update(root).digest("hex").slice(0, 8)}.service`;
  const config = env["XDG_CONFIG_HOME"] ?? "";
  const folder = join(isAbsolute(config) ? config : join(env["HOME"] || homedir(), ".config"), "systemd", "user");
  const command = [process.execPath, realpathSync(process.argv[1] ?? ""), "up", "--workspace", root, ...flags];
  const unit = `${MARK}
[Unit]
Description=midwatch in ${specifiers(project)}

[Service]
ExecStart=${command.map((word) => quoted(word.replaceAll("$", "$$$$"))).join(" ")}
WorkingDirectory=${specifiers(project)}
# As it was where this was written: agent CLIs are looked for in it.
Environment=${quoted(`PATH=${env["PATH"] ?? ""}`)}
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
  return { name, path: join(folder, name), unit };
}

export function writeService({ path, unit }: Service): void {
  const before = readText(path);
  if (before !== undefined && !before.startsWith(MARK))
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
