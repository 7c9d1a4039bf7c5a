/** A real agent CLI in a workspace, playing a scenario, and what has to hold when it is over, however it ended. */
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Permission, Tier } from "../../../src/core/intent.ts";
import type { DoneFact } from "../../../src/core/types.ts";
import type { RunRecord } from "../../../src/fleet/workspace.ts";
import { midwatch } from "../cli.ts";
import { isAlive, type Life, livesIn, zoo } from "../fault/zoo.ts";
import type { Scenario, Step } from "../model/model-api/scenario.ts";
import type { ModelApi } from "../model/model-api/server.ts";
import { type Lab, supportFile } from "../workspace.ts";
import { type CliName, cliCommand, TEST_KEY } from "./real-clis.ts";

export interface CliTrial {
  cli: CliName;
  lab: Lab;
  /** The scenario's name in the model API. */
  scenario: string;
  /** Its working folder. */
  work: string;
  record: RunRecord;
  /** Every process of the zoo and every MCP server of the run, dead or alive. */
  lives(): Life[];
}

export interface CliOptions {
  /** With an MCP server, `stubborn`, that will not go away. */
  mcp?: boolean;
  tier?: Tier;
  /** Claude Code asks its input for each permission; nobody answers there. */
  asks?: boolean;
  permission?: Permission;
  /** Besides what every CLI gets. */
  env?: Readonly<Record<string, string>>;
  args?: readonly string[];
  /** Further options of `midwatch run`. */
  run?: readonly string[];
}

/** One in a lab. As a user would start it, through the command line. */
export async function startCli(
  lab: Lab,
  api: ModelApi,
  cli: CliName,
  scenario: Scenario,
  {
    mcp = false,
    tier = "auto",
    asks = false,
    permission: may = "all",
    env: more = {},
    args: further = [],
    run = [],
  }: CliOptions = {},
): Promise<CliTrial> {
  const [work, home, pids] = ["project", "home", "pids"].map((name) => join(lab.folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(work);
  mkdirSync(home);
  writeFileSync(pids, "");
  const name = basename(lab.folder);
  const server = [process.execPath, supportFile("mcp/stubborn-mcp.ts"), pids] as const;
  const { args, env } = cliCommand(cli, {
    home,
    url: api.play(name, scenario),
    mcp: mcp ? { stubborn: server } : {},
  });
  const options = ["--json", "--workspace", lab.root, "--cwd", work, "--name", cli, "--grace", "1s", "--tier", tier];
  const permission = asks ? ["--interactive", "--permission", "ask"] : ["--permission", may];
  // Midwatch's own server has tests of its own (mcp-real-clis); here it would only take time.
  const driver = ["--driver", cli, "--no-mcp", ...permission, "Do what the script says"];
  const own = asks ? [...args, "--permission-prompt-tool", "stdio"] : args;
  const argv = ["run", ...options, ...run, ...driver, "--", ...own, ...further];
  const { code, stdout, stderr } = await midwatch(work, argv, { ...env, ...more });
  if (code !== 0) throw new Error(`run ended with ${code}: ${stderr}`);
  return { cli, lab, scenario: name, work, record: JSON.parse(stdout) as RunRecord, lives: () => livesIn(pids) };
}

/** A file written by the CLI's own tool, read back, and one more line from its real shell. */
export const WORKS: readonly Step[] = [
  { think: "First the file.", say: "I write the file.", call: { write: "result.txt", content: "one\n" } },
  { call: { read: "result.txt" } },
  { say: "Now a line more.", call: { bash: "echo two >>result.txt; cat result.txt" } },
  { say: "Both lines are there." },
];

/** A tool call that does not end by itself nor when it is asked to: two processes in a session of their own. */
export function stuckInTool(lab: Lab): Step[] {
  const stubborn = `setsid -w '${zoo()}' --pids '${join(lab.folder, "pids")}' --life 60 stubborn`;
  return [{ say: "This takes a while.", call: { bash: stubborn } }, { say: "It was quick." }];
}

/** What is wrong with the end of it; nothing, for every way an agent may end. */
export async function wrongAtEnd({ lab, record, lives }: CliTrial): Promise<string[]> {
  const wrong: string[] = [];
  const check = (holds: boolean, what: string): void => void (holds || wrong.push(what));
  const done = lab.fact<DoneFact>(record, "done.json");
  check(done?.verified === true && done.left.length === 0, `not verified: ${JSON.stringify(done)}`);
  check(lives().filter(isAlive).length === 0, `alive: ${JSON.stringify(lives().filter(isAlive))}`);
  check(lab.survivors().length === 0, `survivors: ${JSON.stringify(lab.survivors())}`);
  const file = readFileSync(record.log);
  const raw = await lab.raw(record.agent);
  check(raw.equals(file) && file.length === done?.log_bytes, `${raw.length} of ${file.length} bytes of the log`);
  const { ok, index, partial, bytes } = await lab.workspace.logs.verify(record.agent);
  check(
    ok && index === (bytes > 0 ? "ok" : "none") && bytes === file.length,
    `log: ${JSON.stringify({ ok, index, partial, bytes })}`,
  );
  const unread = file
    .toString()
    .split("\n")
    .slice(0, -1)
    .filter((line) => !isJson(line));
  check(unread.length === 0, `not JSON: ${unread[0]?.slice(0, 200)}`);
  const leaks = globSync("**", { cwd: lab.root })
    .map((path) => join(lab.root, path))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(TEST_KEY));
  check(leaks.length === 0, `the key is in ${leaks.join(", ")}`);
  return wrong;
}

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}
