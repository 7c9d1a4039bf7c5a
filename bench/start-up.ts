/** What a command costs before it does anything: CPU of the bundle beside that of a bare Node. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { median, ms, times } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const BAR_MS = 100;
/** Times the CPU of `node -e 0`. */
const BAR = 3;
const AGENTS = 4;

export async function bench(options: Options): Promise<Row[]> {
  if (!existsSync(BUNDLE)) throw new Error("dist/midwatch.js is missing: npm run build");
  const root = join(options.dir, "workspace");
  const agent = await endedAgents(root);
  const rounds = options.quick ? 5 : 21;
  const commands = {
    ls: ["ls", "--workspace", root],
    logs: ["logs", "--workspace", root, agent],
    "--version": ["--version"],
    help: ["help"],
  };
  const bare: number[] = [];
  const measured = new Map(Object.keys(commands).map((name) => [name, [] as number[]]));
  // In turns, so that what else the machine does meets all of them alike. The first round fills the cache of compiled code.
  for (let i = 0; i <= rounds; i++) {
    const node = cpuMs(["-e", "0"]);
    if (i > 0) bare.push(node);
    for (const [name, args] of Object.entries(commands)) {
      const ms = cpuMs([BUNDLE, ...args]);
      if (i > 0) measured.get(name)?.push(ms);
    }
  }
  const base = median(bare);
  return [...measured].map(([name, all]) => {
    const cpu = median(all);
    return row({
      promise: "start-up",
      figure: `\`midwatch ${name}\`, bundled: CPU`,
      measured: ms(cpu),
      peer: `\`node -e 0\`: ${ms(base)}`,
      ratio: times(cpu / base),
      ...(name === "--version" ? atMost(cpu, BAR_MS, " ms") : {}),
      ...(name === "ls" ? atMost(cpu / base, BAR, " x") : {}),
      note: `median of ${rounds}${name === "ls" ? `; a workspace of ${AGENTS} agents that have ended` : ""}`,
    });
  });
}

/** The last of them. */
async function endedAgents(root: string): Promise<string> {
  using workspace = openWorkspace({ workspace: root, make: true });
  const agents: string[] = [];
  for (let i = 0; i < AGENTS; i++) agents.push((await workspace.runs.start({ argv: ["echo", "hello"] })).agent);
  await workspace.runs.wait(agents);
  await workspace.runs.list();
  return agents.at(-1) ?? "";
}

/** User and system time of a process and all below it, by the shell that waits for it. */
function cpuMs(args: readonly string[]): number {
  const script = "TIMEFORMAT='%U %S'; { time \"$@\" >/dev/null 2>&1; } 2>&1";
  const [user = 0, system = 0] = execFileSync("bash", ["-c", script, "bash", process.execPath, ...args], {
    encoding: "utf8",
    timeout: 30_000,
  })
    .trim()
    .split(" ")
    .map(Number);
  return (user + system) * 1000;
}
