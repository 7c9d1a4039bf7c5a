/** Programs that can use midwatch's MCP server: where each keeps its list of servers, and how one is written there. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { readText } from "../disk/replace.ts";
import { replaceUserFile } from "../disk/user-file.ts";
import { lastingPath, lastingWords } from "../process/lasting.ts";
import { findCommand } from "../workspace/find-command.ts";
import { removeMember, setMember } from "./json-edit.ts";
import { removeTable, setTable } from "./toml-edit.ts";

export const CLIENTS = ["claude", "codex", "gemini", "opencode", "cursor"] as const;
export type ClientName = (typeof CLIENTS)[number];
type Env = Readonly<Record<string, string | undefined>>;
type Words = readonly [command: string, ...args: string[]];

interface Client {
  file(home: string, env: Env): string;
  /** Undefined when the file is not what the client itself would read. */
  edit(text: string, words: Words): string | undefined;
  /** The same without our server. */
  remove(text: string): string | undefined;
}

/**
 * Codex hands on few of its variables to a server, and those that are named. Agents that the server starts need their keys and the way out; without the first
 * it would look for its records in another folder than the person does. Names only: values stay in the environment.
 */
const HANDED_ON = [
  "XDG_STATE_HOME",
  ...[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
  ],
  ...["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"],
  ...[
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "OPENROUTER_API_KEY",
  ],
  ...["GH_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"],
];

const MEMBER = ["mcpServers", "midwatch"] as const;
const asJson = {
  edit: (text: string, [command, ...args]: Words) => setMember(text, MEMBER, { command, args }),
  remove: (text: string) => removeMember(text, MEMBER),
};

const TABLE: Readonly<Record<ClientName, Client>> = {
  claude: {
    file: (home, env) => join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json"),
    edit: (text, [command, ...args]) => setMember(text, MEMBER, { type: "stdio", command, args, env: {} }),
    remove: asJson.remove,
  },
  codex: {
    file: (home, env) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
    edit: (text, [command, ...args]) => setTable(text, "mcp_servers.midwatch", { command, args, env_vars: HANDED_ON }),
    remove: (text) => removeTable(text, "mcp_servers.midwatch"),
  },
  gemini: { file: (home) => join(home, ".gemini", "settings.json"), ...asJson },
  opencode: {
    file(home, env) {
      const folder = join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode");
      return join(folder, existsSync(join(folder, "opencode.jsonc")) ? "opencode.jsonc" : "opencode.json");
    },
    edit: (text, words) => setMember(text, ["mcp", "midwatch"], { type: "local", command: words, enabled: true }),
    remove: (text) => removeMember(text, ["mcp", "midwatch"]),
  },
  cursor: { file: (home) => join(home, ".cursor", "mcp.json"), ...asJson },
};

export interface Edit {
  client: ClientName;
  file: string;
  before: string;
  after: string;
}

/** What would be written; equal texts mean that it is there already. */
export function planEdit(name: ClientName, env: Env): Edit {
  const file = fileOf(name, env);
  const before = readText(file) ?? "";
  if (before === "" && existsSync(file) && readText(file) === undefined)
    throw new MidwatchError("BAD_PATH", `${file} cannot be read.`, { hint: "Check its permissions." });
  const words: Words =
    findCommand("midwatch", lastingPath(env)) === undefined ? lastingWords(["mcp"], env) : ["midwatch", "mcp"];
  const after = TABLE[name].edit(before, words);
  if (after !== undefined) return { client: name, file, before, after };
  throw new MidwatchError("BAD_CONFIG", `${file} is not written in a way that midwatch can add to.`, {
    hint: `Add it by hand: a server "midwatch" on stdio with the command ${words.join(" ")}`,
  });
}

/** Where a client has our server, the file without it. */
export function planRemoval(name: ClientName, env: Env): Edit | undefined {
  const file = fileOf(name, env);
  const before = readText(file) ?? "";
  const after = TABLE[name].remove(before) ?? before;
  return after === before ? undefined : { client: name, file, before, after };
}

/** Returns where the old file is kept. */
export function writeEdit({ file, before, after }: Edit): string | null {
  return before === after ? null : (replaceUserFile(file, after) ?? null);
}

/** Clients that seem to be used here. */
export function presentClients(env: Env): ClientName[] {
  return CLIENTS.filter((name) => {
    const file = fileOf(name, env);
    const ownFolder = name !== "claude" && existsSync(dirname(file));
    return existsSync(file) || ownFolder || findCommand(name, env["PATH"] ?? "") !== undefined;
  });
}

function fileOf(name: ClientName, env: Env): string {
  const home = env["HOME"];
  if (home) return TABLE[name].file(home, env);
  throw new MidwatchError("BAD_PATH", "HOME is not set, so nobody knows where the settings are.", {
    hint: "Set HOME.",
  });
}
