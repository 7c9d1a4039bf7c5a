/** Where the journal goes to, and how git is to be called so that it never asks and never waits for ever. */
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import type { Layout } from "../disk/layout.ts";
import { git } from "../process/git.ts";
import { withoutUser } from "./fault.ts";

export interface Remote {
  /** As git takes it; may hold a password. */
  url: string;
  /** For people. */
  shown: string;
  branch: string;
  /** Settings of the project's repository (credentials, headers, proxies), below ours. */
  config: readonly string[];
  set: Readonly<Record<string, string>>;
  /** The project's own git folder, when there is one. */
  projectConfig: string | undefined;
}

const SSH = "-o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=2";

/** Undefined when nothing says where to. */
export async function findRemote(layout: Layout, config: Config, env: NodeJS.ProcessEnv): Promise<Remote | undefined> {
  const project = dirname(layout.root);
  const branch = await branchOf(config.sync_branch, project, env);
  const ask = async (...args: string[]): Promise<string> => {
    const answer = await git(project, args, { env });
    return answer.code === 0 ? answer.stdout.trim() : "";
  };
  const projectConfig = await ask("rev-parse", "--path-format=absolute", "--git-path", "config");
  const named = config.sync_remote === "" ? "origin" : config.sync_remote;
  const known = projectConfig === "" ? "" : await ask("config", "--get", `remote.${named}.url`);
  const url = known !== "" ? known : config.sync_remote;
  if (url === "") return undefined;
  if (url.startsWith("-") || /^ext::/.test(url))
    throw new MidwatchError(
      "BAD_CONFIG",
      `sync_remote: ${quote(withoutUser(url))} is not the address of a repository.`,
      {
        hint: "Name a remote of the project, a URL or a path.",
      },
    );
  const ssh = env["GIT_SSH_COMMAND"] || (await ask("config", "--get", "core.sshCommand")) || "ssh";
  return {
    url,
    shown: withoutUser(url),
    branch,
    projectConfig: projectConfig === "" ? undefined : projectConfig,
    config: [...(projectConfig === "" ? [] : [`include.path=${projectConfig}`]), ...PATIENCE],
    set: {
      // Helpers answer, people are not asked: neither at a terminal nor in a window.
      GIT_ASKPASS: "false",
      SSH_ASKPASS: "false",
      SSH_ASKPASS_REQUIRE: "never",
      GCM_INTERACTIVE: "never",
      ...(env["GIT_SSH"] && !env["GIT_SSH_COMMAND"] ? {} : { GIT_SSH_COMMAND: `${ssh} ${SSH}` }),
    },
  };
}

const PATIENCE: readonly string[] = [
  "http.lowSpeedLimit=1",
  "http.lowSpeedTime=30",
  "credential.interactive=false",
  "push.gpgSign=false",
  // A file is like the one that it continues, and like no other: looking further takes seconds and finds nothing.
  "pack.window=2",
  "fetch.fsckObjects=false",
  "fetch.prune=false",
  // Everything comes in the one pack that is looked at.
  "fetch.uriProtocols=",
  "transfer.bundleURI=false",
];

async function branchOf(name: string, project: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { code } = await git(project, ["check-ref-format", `refs/heads/${name}`], { env });
  if (code === 0 && !name.startsWith("-")) return name;
  throw new MidwatchError("BAD_CONFIG", `sync_branch: ${quote(name)} cannot be the name of a branch.`, {
    hint: "The default is midwatch-journal.",
  });
}

/**
 * Changes when credentials may have changed: the files in which git, ssh and gh keep them, by size and time. What a helper of the system
 * keeps elsewhere cannot be seen, and variables do not change while we run; a new process tries in any case.
 */
export function credentialsMark({ projectConfig }: Remote, env: NodeJS.ProcessEnv): string {
  const home = env["HOME"] ?? "";
  const settings = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const ssh = join(home, ".ssh");
  const files = [
    ...[".gitconfig", ".git-credentials", ".netrc"].map((name) => join(home, name)),
    ...["git/config", "git/credentials", "gh/hosts.yml"].map((name) => join(settings, name)),
    ...namesOf(ssh).map((name) => join(ssh, name)),
    ...(projectConfig === undefined ? [] : [projectConfig]),
  ];
  const hash = createHash("sha256");
  for (const path of files) {
    const stat = statSync(path, { throwIfNoEntry: false });
    hash.update(`${path}\0${stat?.ino}:${stat?.size}:${stat?.mtimeMs}\0`);
  }
  return hash.digest("hex");
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
