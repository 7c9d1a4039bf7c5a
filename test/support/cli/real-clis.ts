/**
 * The real agent CLIs that tests run against the scripted model: where they are installed, and the command, environment and
 * settings of one headless run. Each run has a home of its own, sends nothing anywhere but to the model, and gives up soon.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** Those that there is a headless command for. */
export type CliName = keyof typeof SETUPS;
/** With the programs that check MCP servers, which are had in the same way. */
type PackageName = CliName | "conformance" | "inspector";

/** The exact versions, in real-clis.json. */
export const CLIS: Readonly<Record<PackageName, { package: string; version: string }>> = JSON.parse(
  readFileSync(new URL("real-clis.json", import.meta.url), "utf8"),
);

/** In the user's cache and not in node_modules, which every `npm ci` empties. */
export function cliFolder(name: PackageName): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "midwatch", "clis", `${name}@${CLIS[name].version}`);
}

export function cliProgram(name: PackageName, folder: string = cliFolder(name)): string {
  return join(folder, "node_modules", ".bin", name);
}

/** Says so loudly when it is missing: a test that was skipped proves nothing. */
export function isInstalled(name: PackageName): boolean {
  const installed = existsSync(cliProgram(name));
  if (!installed)
    console.warn(`SKIPPED: ${name} ${CLIS[name].version} is not installed. Next: node scripts/real-clis.mjs ${name}`);
  return installed;
}

export interface CliRun {
  /** An empty folder for its settings, sessions and caches. */
  home: string;
  /** The scripted model. */
  url: string;
  /** Stdio MCP servers by name. */
  mcp?: Readonly<Record<string, readonly [command: string, ...args: string[]]>>;
}

/** What `midwatch run --driver NAME PROMPT -- ARGS` needs. */
export interface CliCommand {
  args: string[];
  env: Record<string, string>;
}

/** A key that must not be found anywhere but in what the CLI sends. */
export const TEST_KEY = "sk-midwatch-test-0123456789abcdef";

/** Of the tests (vitest.config.ts); a measurement has that of the user. */
const STATE = process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state");

export function cliCommand(name: CliName, run: CliRun): CliCommand {
  const { args, env } = SETUPS[name](run);
  const program = cliProgram(name);
  const path = [dirname(program), dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
  return {
    args,
    // The workspace is the test's own; what HOME the agent has says nothing about that.
    env: { PATH: path, HOME: run.home, XDG_STATE_HOME: STATE, LANG: "C.UTF-8", TERM: "dumb", ...env },
  };
}

type Setup = (run: CliRun) => { args: string[]; env: Record<string, string> };

const SETUPS = {
  claude: ({ url, mcp = {} }) => ({
    args: ["--strict-mcp-config", "--mcp-config", JSON.stringify({ mcpServers: commandAndArgs(mcp) })],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: TEST_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_MAX_RETRIES: "2",
      API_TIMEOUT_MS: "20000",
      // Tools of MCP servers are offered by name.
      ENABLE_TOOL_SEARCH: "false",
    },
  }),
  codex: ({ home, url, mcp = {} }) => {
    const servers = Object.entries(mcp).map(
      ([name, [command, ...args]]) =>
        `[mcp_servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nrequired = true\n`,
    );
    writeFileSync(join(home, "config.toml"), CODEX_CONFIG.replace("URL", url) + servers.join(""));
    return {
      args: [],
      env: { CODEX_HOME: home, MODEL_KEY: TEST_KEY },
    };
  },
  opencode: ({ url, mcp = {} }) => {
    const local = Object.entries(mcp).map(([name, command]) => [name, { type: "local", command, enabled: true }]);
    const config = {
      model: "scripted/model",
      permission: { "*": "allow" },
      share: "disabled",
      autoupdate: false,
      mcp: Object.fromEntries(local),
      provider: {
        scripted: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${url}/v1`, apiKey: TEST_KEY },
          models: { model: { tool_call: true } },
        },
      },
    };
    return {
      args: [],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
    };
  },
  gemini: ({ home, url, mcp = {} }) => {
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      general: { enableAutoUpdate: false, maxAttempts: 3 },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      mcpServers: commandAndArgs(mcp),
    };
    mkdirSync(join(home, ".gemini"), { recursive: true });
    writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
    return {
      args: ["-m", "gemini-2.5-pro"],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: TEST_KEY },
    };
  },
} satisfies Record<string, Setup>;
export const CLI_NAMES: readonly CliName[] = Object.keys(SETUPS) as CliName[];

const CODEX_CONFIG = `model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = "URL/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 1
stream_idle_timeout_ms = 5000
`;

function commandAndArgs(mcp: NonNullable<CliRun["mcp"]>): Record<string, { command: string; args: string[] }> {
  return Object.fromEntries(Object.entries(mcp).map(([name, [command, ...args]]) => [name, { command, args }]));
}
