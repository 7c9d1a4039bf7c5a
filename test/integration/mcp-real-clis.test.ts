import { spawn } from "node:child_process";
import { globSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliName, cliCommand, cliProgram, isInstalled } from "../support/cli/real-clis.ts";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { httpServer } from "../support/mcp/mcp-client.ts";
import type { Step } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { ended, type Lab } from "../support/workspace.ts";

const TIMEOUT_MS = patient(120_000);

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

const tool = (name: string, input: Record<string, unknown>): Step => ({
  call: { mcp: "midwatch", tool: name, input },
});

/** A home, and what the CLI needs to play these steps. */
function setUp(at: Lab, cli: CliName, name: string, steps: readonly Step[]) {
  const home = join(at.folder, "home");
  mkdirSync(home);
  return { home, ...cliCommand(cli, { home, url: api.play(name, { steps: [...steps, { say: "Done." }] }) }) };
}

const PROMPT = "Do as the script says";
const own = (key: string, value: string): string[] => ["-c", `mcp_servers.midwatch.${key}=${value}`];
const HEADLESS: Readonly<Record<"claude" | "codex", readonly string[]>> = {
  claude: ["-p", "--output-format", "stream-json", "--verbose", "--allowedTools=mcp__midwatch", PROMPT],
  // As docs/mcp.md says for use without a person: wait for the server, and let it kill.
  codex: [
    ...["exec", "--json", "--skip-git-repo-check"],
    ...[...own("required", "true"), ...own("default_tools_approval_mode", '"approve"'), PROMPT],
  ],
};

describe.each(["claude", "codex"] as const)("%s, the real one", (cli) => {
  it.skipIf(!isInstalled(cli))(
    "finds the server that `mcp install` wrote, lists its tools, deploys an agent, reads it and kills it",
    async () => {
      const at = lab();
      const { home, env } = setUp(at, cli, `outer-${cli}`, [
        tool("deploy_headless_agent", { name: "probe", driver: "command", command: ["sh", "-c", "echo hi; sleep 60"] }),
        tool("list_agents", {}),
        tool("wait_for_agents", { agent_ids: ["probe"], timeout_seconds: 1 }),
        tool("get_agent_output", { agent_id: "probe" }),
        tool("kill_real_agent", { agent_id: "probe", reason: "seen enough", grace_seconds: 0 }),
      ]);
      expect(await midwatch(at.folder, ["mcp", "install", "--client", cli, "--yes"], env)).toMatchObject({ code: 0 });
      const child = spawn(cliProgram(cli), HEADLESS[cli], {
        cwd: at.folder,
        env: { ...env, MCP_CONNECTION_NONBLOCKING: "0", MCP_CONNECT_TIMEOUT_MS: "30000" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const { code, stdout, stderr } = await ended(child);
      expect({ code, stderr: code === 0 ? "" : stderr, home }).toEqual({ code: 0, stderr: "", home });
      const [probe] = await at.workspace.runs.list();
      expect(probe).toMatchObject({ agent: expect.stringMatching(/^probe-/), phase: "archived", outcome: "stopped" });
      expect(readFileSync(probe?.log ?? "", "utf8")).toBe("hi\n");
      for (const said of ["jsonl_log", "terminated", "all_ended"]) expect(stdout).toContain(said);
      expect(api.steps(`outer-${cli}`).at(-1)?.body).toContain("verified_no_zombies");
      expect(at.survivors()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe.each([
  ["claude", "http"],
  ["codex", "http"],
  ["codex", "stdio"],
] as const)("%s with midwatch's own server over %s", (cli, way) => {
  it.skipIf(!isInstalled(cli))(
    "reports its progress by the tool, as itself and without being asked for permission",
    async () => {
      const at = lab();
      if (way === "http") await httpServer(at);
      const name = `inner-${cli}-${way}`;
      const { args, env } = setUp(at, cli, name, [
        tool("update_agent_progress", { status: "working", message: "I am at it", progress: 40 }),
      ]);
      const options = ["--json", "--workspace", at.root, "--driver", cli, "--wait", "Do as the script says"];
      const { code, stdout, stderr } = await midwatch(at.folder, ["run", ...options, "--", ...args], env);
      const [started, over] = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect({ code, stderr, reason: over?.reason }).toEqual({ code: 0, stderr: "", reason: null });
      const progress = join(at.root, started.task, "progress", `${started.agent}_progress.jsonl`);
      expect(JSON.parse(readFileSync(progress, "utf8"))).toMatchObject({
        agent_id: started.agent,
        status: "working",
        message: "I am at it",
        progress: 40,
      });
      // Offered at the first turn, and over the way it should be.
      expect(api.steps(name)[0]?.body).toContain("update_agent_progress");
      const servers = at.intent(started).argv.join(" ") + JSON.stringify(at.fact(started, "mcp.json") ?? "");
      expect(servers.includes("/mcp") && /http:\/\/127/.test(servers)).toBe(way === "http");
    },
    TIMEOUT_MS,
  );
});

describe.each(["claude", "codex"] as const)("%s", (cli) => {
  it.skipIf(!isInstalled(cli))(
    "agents that it starts by its own stdio server have the keys of its environment, and no file or argument holds them",
    async () => {
      const at = lab();
      const secret = "sk-child-needs-this-0123456789";
      const script = '[ "$CHILD_KEY" = "$(printf sk-child-%s needs-this-0123456789)" ] && echo has its key; sleep 1';
      const { args, env } = setUp(at, cli, `keys-${cli}`, [
        tool("spawn_child_agent", { name: "child", driver: "command", command: ["sh", "-c", script] }),
        tool("wait_for_agents", { agent_ids: ["child"], timeout_seconds: 20 }),
      ]);
      const options = ["--json", "--workspace", at.root, "--driver", cli, "--permission", "all", "--name", "lead"];
      const ran = await midwatch(at.folder, ["run", ...options, "--wait", PROMPT, "--", ...args], {
        ...env,
        CHILD_KEY: secret,
      });
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" });
      const child = (await at.workspace.runs.list()).find(({ agent }) => agent.startsWith("child-"));
      expect(readFile(child?.log ?? "")).toBe("has its key\n");
      expect(holders(at.root, secret)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

it.skipIf(!isInstalled("codex"))(
  "codex, a person's own with what `mcp install` wrote: agents that it starts have their keys, and no file holds them",
  async () => {
    const at = lab();
    const secret = "sk-child-needs-this-0123456789";
    const script =
      '[ "$ANTHROPIC_API_KEY" = "$(printf sk-child-%s needs-this-0123456789)" ] && echo has its key; sleep 1';
    const { env } = setUp(at, "codex", "keys-installed", [
      tool("deploy_headless_agent", { name: "child", driver: "command", command: ["sh", "-c", script] }),
      tool("wait_for_agents", { agent_ids: ["child"], timeout_seconds: 20 }),
    ]);
    expect((await midwatch(at.folder, ["mcp", "install", "--client", "codex", "--yes"], env)).code).toBe(0);
    const child = spawn(cliProgram("codex"), HEADLESS.codex, {
      cwd: at.folder,
      env: { ...env, ANTHROPIC_API_KEY: secret },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { code, stderr } = await ended(child);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const [made] = await at.workspace.runs.list();
    expect(readFile(made?.log ?? "")).toBe("has its key\n");
    expect(holders(at.folder, secret)).toEqual([]);
  },
  TIMEOUT_MS,
);

/** Files below a folder that hold a text. */
function holders(folder: string, text: string): string[] {
  const files = globSync("**", { cwd: folder }).map((path) => join(folder, path));
  return files.filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
