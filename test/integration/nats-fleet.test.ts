import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { spendingCli } from "../support/cli/spending-cli.ts";
import { type CliResult, midwatch } from "../support/cli.ts";
import { told } from "../support/data/events.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab } from "../support/workspace.ts";

const SOON = { timeout: patient(20_000), interval: 200 };

describe.skipIf(!hasNats("current"))("a fleet", { timeout: patient(90_000) }, () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  function join_(at: Lab, fleet: string, name: string, ...more: string[]): ChildProcess {
    const config = ["--join", server.url, "--name", name, "--leader-ttl", "1s", ...more];
    process.env["MIDWATCH_NATS_FLEET"] = fleet;
    try {
      return at.node(CLI, "up", "--no-http", "--workspace", at.root, ...config);
    } finally {
      delete process.env["MIDWATCH_NATS_FLEET"];
    }
  }

  /** A person somewhere, without a workspace. */
  function person(fleet: string): (...args: string[]) => Promise<CliResult> {
    const cwd = folder();
    const env = { ...process.env, MIDWATCH_NATS_SERVERS: server.url, MIDWATCH_NATS_FLEET: fleet };
    return (...args) => midwatch(cwd, args, env);
  }

  function parsed<T = Record<string, unknown>>({ stdout }: Pick<CliResult, "stdout">): T[] {
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T);
  }

  it("a budget of the fleet counts what all hosts spend, also of one that is away", async () => {
    const [a, b] = [lab(), lab()];
    vi.stubEnv("PATH", `${spendingCli(a.folder, { usdPerCall: 0.01, everyMs: 100, calls: 6 })}:${process.env["PATH"]}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const cli = async (at: Lab, ...args: string[]): Promise<Record<string, unknown>[]> =>
      parsed(await at.cli(...args, "--json"));
    const [, away] = [join_(a, "rich", "alpha"), join_(b, "rich", "beta")];
    vi.stubEnv("MIDWATCH_NATS_FLEET", "rich");
    await cli(a, "budget", "set", "day", "0.05", "--fleet");
    const run = ["run", "--driver", "claude", "--no-mcp", "spend"];
    expect(await cli(b, ...run)).toMatchObject([{ phase: "running" }]);
    const spent = async (): Promise<unknown> => (await cli(a, "budget"))[0]?.["spent"];
    await expect.poll(spent, SOON).toBeCloseTo(0.06, 6);
    away.kill("SIGKILL");
    const [held] = await cli(a, ...run);
    const why = expect.stringContaining("for the fleet is spent");
    expect(held).toMatchObject({ phase: "intended", wake: { on: "budget", why } });
    expect(await cli(a, "budget", "raise", "day", "1")).toMatchObject([{ reach: "fleet", of: 1 }]);
    const phases = async (): Promise<unknown> => (await cli(a, "ls")).map(({ phase }) => phase);
    await expect.poll(phases, SOON).toEqual(["running"]);
  });

  it("hosts join, agents are placed, read, told and stopped from anywhere", async () => {
    const [a, b] = [lab(), lab()];
    join_(a, "one", "alpha", "--labels", "zone=eu");
    join_(b, "one", "beta", "--labels", "gpu=a100,zone=eu");
    const ask = person("one");
    const up = async (): Promise<unknown[]> =>
      parsed(await ask("hosts", "--json")).map(({ host, reachable }) => [host, reachable]);
    await expect.poll(up, SOON).toEqual([
      ["alpha", true],
      ["beta", true],
    ]);

    const script = "for i in 1 2 3; do echo line $i; done; exec sleep 300";
    const placed = await ask("run", "--json", "--interactive", "--on", "gpu", "--", "sh", "-c", script);
    const [run] = parsed(placed);
    expect(run).toMatchObject({ host: "beta", phase: "running" });
    expect(b.workspace.runs.tasks()).toHaveLength(1);
    expect(a.workspace.runs.tasks()).toHaveLength(0);
    const id = `beta/${String(run?.["agent"])}`;

    const listed = parsed(await ask("ls", "--all-hosts", "--json"));
    expect(listed).toMatchObject([{ host: "beta", agent: run?.["agent"], phase: "running" }]);
    expect((await ask("show", id, "--json")).stdout).toContain('"phase":"running"');
    await expect.poll(async () => (await ask("logs", id)).stdout, SOON).toBe("line 1\nline 2\nline 3\n");
    expect((await ask("logs", "-n", "1", id)).stdout).toBe("line 3\n");
    expect(parsed(await ask("logs", "--json", "-n", "2", id)).map(({ seq, text }) => [seq, text])).toEqual([
      [2, "line 2"],
      [3, "line 3"],
    ]);
    expect((await ask("send", id, "hello")).code).toBe(0);
    expect((await ask("messages", id, "--json")).stdout).toContain("hello");

    const [report] = parsed(await ask("stop", "--grace", "0", "--json", id));
    expect(report).toMatchObject({ agent: run?.["agent"], verified: true, outcome: "stopped" });
    const [again] = parsed(await ask("stop", "--json", id));
    expect(again).toMatchObject({ already_stopped: true });
    expect(parsed(await ask("restart", "--json", id))).toMatchObject([{ run: 2, phase: "running" }]);
    expect(parsed(await ask("stop", "--grace", "0", "--json", id))).toMatchObject([{ verified: true }]);
    expect(told(b, "fleet.change").length).toBeGreaterThanOrEqual(5);

    const slow = "for i in 1 2 3 4; do echo $i; sleep 0.4; done";
    const [brief] = parsed(await ask("run", "--json", "--host", "beta", "--", "sh", "-c", slow));
    expect((await ask("logs", "-f", `beta/${String(brief?.["agent"])}`)).stdout).toBe("1\n2\n3\n4\n");
    expect((await ask("run", "--host", "beta", "--", "true")).stderr).toContain("midwatch logs -f beta/");
    expect((await ask("drain", "beta")).code).toBe(0);
    expect((await ask("run", "--on", "gpu", "--", "true")).stderr).toContain("beta: draining");
    expect((await ask("run", "--host", "gamma", "--", "true")).stderr).toContain("NOT_FOUND_HOST");
    expect(parsed(await ask("run", "--json", "--anywhere", "--", "true"))).toMatchObject([{ host: "alpha" }]);
    expect((await ask("logs", "--raw", id)).stderr).toContain("REFUSED_RIGHT");
    expect((await ask("stop", "alpha/x", "beta/y")).code).toBe(2);
    const agent = { ...process.env, MIDWATCH_NATS_SERVERS: server.url, MIDWATCH_AGENT: "me-1" };
    expect((await midwatch(folder(), ["hosts"], agent)).stderr).toContain("REFUSED_RIGHT");
  });

  it("a host that vanishes: its agents are unreachable with what was known, go on, and are there when it is back", async () => {
    const at = lab();
    const first = join_(at, "two", "alpha");
    const ask = person("two");
    const here = async (): Promise<unknown> => parsed(await ask("hosts", "--json"))[0]?.["reachable"];
    await expect.poll(here, SOON).toBe(true);
    const [run] = parsed(await ask("run", "--json", "--host", "al", "--", "sh", "-c", "echo hi; exec sleep 300"));
    const id = `alpha/${String(run?.["agent"])}`;
    const known = async (): Promise<unknown[]> => {
      first.kill("SIGSTOP");
      const listed = parsed(await ask("ls", "--all-hosts", "--json"));
      first.kill("SIGCONT");
      return listed;
    };
    await expect
      .poll(known, SOON)
      .toMatchObject([{ agent: run?.["agent"], phase: "unreachable", last_phase: "running" }]);
    first.kill("SIGKILL");
    await expect.poll(here, SOON).toBe(false);
    expect((await ask("hosts")).code).toBe(1);
    expect((await ask("show", id)).stdout).toContain("unreachable");
    expect(await ask("stop", id)).toMatchObject({ code: 5, stderr: expect.stringContaining("HOST_AWAY") });
    expect(at.workspace.runs.ids("", 10)).toHaveLength(1);
    // What is written meanwhile goes to the hub later.
    await at.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "written while away" });
    join_(at, "two", "alpha");
    await expect.poll(here, SOON).toBe(true);
    expect(parsed(await ask("ls", "--all-hosts", "--json"))).toMatchObject([
      { agent: run?.["agent"], phase: "running", run: 1 },
    ]);
    await expect
      .poll(async () => (await ask("events", "--all-hosts", "--json")).stdout, SOON)
      .toContain("written while away");
    const all = parsed(await ask("events", "--all-hosts", "-n", "1000", "--json"));
    expect(new Set(all.map((event) => event["id"])).size).toBe(all.length);
    expect(parsed(await ask("stop", "--grace", "0", "--json", id))).toMatchObject([{ verified: true }]);
  });

  it("a hub that is away: agents start, end and are read here as ever", async () => {
    await using away = await NatsServer.start();
    const at = lab();
    const up = at.node(CLI, "up", "--no-http", "--workspace", at.root, "--join", away.url);
    let said = "";
    up.stderr?.on("data", (part) => {
      said += part;
    });
    await expect.poll(() => said, SOON).toContain("fleet: this is");
    await away.kill();
    const { agent } = await at.run("echo", "works on");
    await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
    expect((await at.raw(agent)).toString()).toBe("works on\n");
    await expect.poll(() => said, SOON).toContain("no connection to the hub");
    await away.up();
    await expect.poll(() => said, SOON).toContain("the hub is back");
    expect(existsSync(join(at.root, "events.log"))).toBe(true);
  });
});
