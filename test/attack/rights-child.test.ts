import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import type { Workspace } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import { ask, bearer } from "../support/net/http.ts";
import { type Puppet, Puppets } from "../support/puppet.ts";
import { CLI } from "../support/workspace.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

type Fields = Record<string, unknown>;
/** Each door, asked by an agent for a child: the code of the refusal, or the id of what was started. */
type Door = (puppet: Puppet, fields: Fields) => Promise<string>;

/** Fields of the operation as flags. */
function flags({ prompt, command, ...rest }: Fields): string[] {
  const named = Object.entries(rest).map(([name, value]) => `--${name.replaceAll("_", "-")}=${value}`);
  return [
    ...named,
    ...(prompt === undefined ? [] : [String(prompt)]),
    ...(command ? ["--", ...(command as string[])] : []),
  ];
}

const DOORS: Record<string, (workspace: Workspace) => Promise<Door>> = {
  "the command line": async () => async (puppet, fields) => {
    const { code, stdout, stderr } = await puppet.midwatch("--json", "run", ...flags(fields));
    if (code === 0) return JSON.parse(stdout).agent;
    expect(code).toBe(4);
    return JSON.parse(stderr).error.code;
  },
  "its MCP server":
    async () =>
    async (puppet, { task, env_file, stdin, each, ...fields }) => {
      const known = { ...fields, ...(task === undefined ? {} : { task_id: task }) };
      if (env_file ?? stdin ?? each) return "REFUSED_RIGHT"; // The tool has no such argument.
      const { data } = await puppet.tool("deploy_headless_agent", known);
      return String(data["agent_id"] ?? data["code"]);
    },
  "HTTP with its capability": async (workspace) => {
    const tell = () => undefined;
    const served = await serve(workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell });
    onTestFinished(() => served.close());
    return async (puppet, fields) => {
      const asked = { method: "POST", headers: bearer(puppet.bearer), body: JSON.stringify(fields) };
      const { status, json } = await ask(served.url, "/api/run", asked);
      if (status === 200) return json.items[0].agent;
      expect(status).toBe(403);
      return json.error.code;
    };
  },
};

describe.each(Object.entries(DOORS))("through %s", (name, open) => {
  // One that starts processes for each attempt tries the ends of the order.
  it.each(name.startsWith("HTTP") ? (["plan", "ask", "edit"] as const) : (["plan", "edit"] as const))(
    "an agent with %s gets no shell and nothing beyond its own",
    async (permission) => {
      const at = lab();
      const puppets = new Puppets(at);
      const elsewhere = at.workspace.runs.makeTask("another task").task;
      const secret = join(at.folder, "secret.env");
      writeFileSync(secret, "TOKEN=x\n");
      mkdirSync(join(at.folder, "project/sub"), { recursive: true });
      symlinkSync(at.folder, join(at.folder, "project/out"));
      const puppet = await puppets.start({ permission, cwd: join(at.folder, "project") });
      const door = await open(puppets.workspace);
      const prompt = "x";
      const higher = { plan: ["ask", "edit", "all"], ask: ["edit", "all"], edit: ["all"] }[permission];
      const attempts: Fields[] = [
        { driver: "command", command: ["sh", "-c", `touch ${join(at.folder, "shell")}`] },
        ...higher.map((more) => ({ driver: "claude", prompt, permission: more })),
        { driver: "claude", prompt, command: ["--dangerously-skip-permissions"] },
        { driver: "claude", prompt, cwd: at.folder },
        { driver: "claude", prompt, cwd: "/" },
        { driver: "claude", prompt, cwd: "out" },
        { driver: "claude", prompt, cwd: "sub/../.." },
        { driver: "claude", prompt, task: elsewhere },
        { driver: "claude", prompt, env_file: secret },
        { driver: "command", command: ["cat"], stdin: secret },
        { driver: "claude", each: secret },
      ];
      for (const fields of attempts) expect([fields, await door(puppet, fields)]).toEqual([fields, "REFUSED_RIGHT"]);
      expect(await at.workspace.runs.list({ all: true })).toHaveLength(1);
      // What it has it may hand on, in its own folder and on its own task.
      for (const fields of [
        { prompt, driver: "claude" },
        { prompt, driver: "claude", cwd: "sub", permission },
      ]) {
        const child = await at.workspace.runs.show(await door(puppet, fields));
        expect(child).toMatchObject({ parent: puppet.agent, task: puppet.record.task });
        const expected = "permission" in fields ? permission : permission === "plan" ? "plan" : "ask";
        expect(at.intent(child)).toMatchObject({
          permission: expected,
          cwd: join(at.folder, "project", fields.cwd ?? ""),
        });
      }
    },
  );
});

it("a folder that becomes a link while the child waits in the queue is not entered", async () => {
  const at = lab({ max_running: 1 });
  const puppets = new Puppets(at);
  for (const name of ["project/sub", "elsewhere"]) mkdirSync(join(at.folder, name), { recursive: true });
  const puppet = await puppets.start({ permission: "edit", cwd: join(at.folder, "project") });
  const asked = ["run", "--json", "--queue", "--driver", "claude", "--cwd", join(at.folder, "project/sub"), "x"];
  const { agent } = JSON.parse((await puppet.midwatch(...asked)).stdout);
  expect((await puppet.sh(`cd ../project && rmdir sub && ln -s '${join(at.folder, "elsewhere")}' sub`)).code).toBe(0);
  await at.workspace.runs.stop([puppet.agent], { graceMs: 0 });
  const [child] = await puppets.workspace.runs.wait([agent]);
  expect(child).toMatchObject({ outcome: "failed", reason: expect.stringContaining("since the agent was asked for") });
});

it("a model or session whose name is a flag of the CLI is refused, for everybody", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const puppet = await puppets.start({ permission: "plan" });
  const { data } = await puppet.tool("deploy_headless_agent", { driver: "claude", prompt: "x", model: "--yolo" });
  expect(data["code"]).toBe("USAGE");
  expect((await at.cli("run", "--driver", "claude", "--model=--dangerously-skip-permissions", "x")).code).toBe(2);
  expect(await at.workspace.runs.list({ all: true })).toHaveLength(1);
});

it("an agent that edits its own intent, its permission, driver and folder in it, has no more than before", async () => {
  const at = lab();
  const puppet = await new Puppets(at).start({ permission: "edit" });
  const file = join(at.runDir(puppet.record), "intent.json");
  for (const forged of [{ permission: "all" }, { driver: "command" }, { cwd: "/" }]) {
    const before = readFileSync(file, "utf8");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(before), ...forged }));
    at.workspace.rebuild(); // The registry believes it now.
    const wish = "cwd" in forged ? ["--cwd", "/", "x"] : ["--", "true"];
    const { code, stderr } = await puppet.midwatch("run", ...wish);
    expect([forged, code, stderr]).toEqual([forged, 4, expect.stringContaining("Its own permission is edit")]);
    writeFileSync(file, before);
  }
});

it("an agent that makes its claim, its capability or its whole record unknown is no person", async () => {
  const at = lab();
  const puppet = await new Puppets(at).start({ permission: "plan" });
  const shell = join(at.folder, "shell");
  const nobody = async (what: string): Promise<void> => {
    at.workspace.rebuild(); // The registry believes it now.
    const ran = await puppet.midwatch("run", "--", "touch", shell);
    expect([what, ran.code, ran.stderr]).toEqual([what, 4, expect.stringContaining("REFUSED_RIGHT")]);
    const task = await puppet.midwatch("task", "mine");
    expect([what, task.code]).toEqual([what, 4]);
    const { data } = await puppet.tool("deploy_headless_agent", { driver: "command", command: ["touch", shell] });
    expect([what, data["code"]]).toEqual([what, "REFUSED_RIGHT"]);
  };
  const at1 = (name: string): string => join(at.runDir(puppet.record), name);
  const intent = readFileSync(at1("intent.json"), "utf8");
  writeFileSync(at1("intent.json"), JSON.stringify({ ...JSON.parse(intent), capability: "0".repeat(64) }));
  const claim = readFileSync(at1("claim"), "utf8");
  writeFileSync(at1("claim"), JSON.stringify({ ...JSON.parse(claim), pid: 1 }));
  await nobody("claim and capability");
  writeFileSync(at1("claim"), "");
  await nobody("no claim");
  writeFileSync(at1("intent.json"), "{}");
  await nobody("no record");
  writeFileSync(at1("intent.json"), intent);
  writeFileSync(at1("claim"), claim);
  at.workspace.rebuild();
  expect(readdirSync(at.folder)).not.toContain("shell");
});

it("an agent that edits another's record to be its parent, or to know its capability, has no power over it", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const puppet = await puppets.start({ permission: "edit" });
  const other = await at.run("sleep", "60");
  const file = join(at.runDir(other), "intent.json");
  const capability = "1".repeat(32);
  const hash = createHash("sha256").update(capability).digest("hex");
  writeFileSync(file, JSON.stringify({ ...at.intent(other), parent: puppet.agent, capability: hash }));
  at.workspace.rebuild(); // The registry believes it now.
  expect((await puppet.midwatch("stop", other.agent)).code).toBe(4);
  expect((await puppet.midwatch("run", "--parent", other.agent, "--driver", "claude", "x")).code).toBe(4);
  const posing = await puppet.sh(
    `MIDWATCH_AGENT=${other.agent} MIDWATCH_CAPABILITY=${capability} '${process.execPath}' '${CLI}' run -- true`,
  );
  expect([posing.code, posing.stderr]).toEqual([4, expect.stringContaining(puppet.agent)]);
  const served = await serve(puppets.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => {} });
  onTestFinished(() => served.close());
  const headers = bearer(`${other.agent}:${capability}`);
  const body = JSON.stringify({ command: ["true"] });
  expect((await ask(served.url, "/api/run", { method: "POST", headers, body })).status).toBe(401);
  expect((await at.workspace.runs.show(other.agent)).phase).toBe("running");
});

it("R-004.28: a process that calls itself the agent's keeper, with every right in its environment, is not believed", async () => {
  const at = lab();
  const puppet = await new Puppets(at).start({ permission: "edit" });
  const rights = JSON.stringify({ permission: "all", driver: "command", cwd: "/", task: puppet.record.task });
  const name = `${puppet.agent}.1`;
  const fake = `MIDWATCH_RIGHTS='${rights}' sh -c 'exec "$@"' sh node -e 'setTimeout(() => {}, 60000)' & true`;
  expect((await puppet.sh(fake.replace("node -e", `'${process.execPath}' -e`))).code).toBe(0);
  const called = `MIDWATCH_RIGHTS='${rights}' '${process.execPath}' run ${name} ${"0".repeat(32)} & true`;
  await puppet.sh(`printf 'setTimeout(() => {}, 60000)' >run; ${called}`);
  const { code, stderr } = await puppet.midwatch("run", "--", "true");
  expect([code, stderr]).toEqual([4, expect.stringContaining("Its own permission is edit")]);
});

it("an agent whose record names no keeper, made up with a capability of one's own, starts nothing", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const puppet = await puppets.start({ permission: "edit" });
  const ended = await at.run("true");
  await at.workspace.runs.wait([ended.agent]);
  const [, capability = ""] = puppet.bearer.split(":");
  const hash = createHash("sha256").update(capability).digest("hex");
  at.setFact(ended, "intent.json", { ...at.intent(ended), capability: hash });
  at.workspace.rebuild();
  const door = await (DOORS["HTTP with its capability"] as (of: Workspace) => Promise<Door>)(puppets.workspace);
  const posing = Object.create(puppet, { bearer: { value: `${ended.agent}:${capability}` } }) as Puppet;
  expect(await door(posing, { command: ["touch", join(at.folder, "shell")] })).toBe("REFUSED_RIGHT");
});

it("an agent that names one below it as the parent gets the least of both", async () => {
  const at = lab();
  const puppets = new Puppets(at);
  const lead = await puppets.start({ permission: "edit" });
  const { stdout } = await lead.midwatch("--json", "run", "--permission", "plan", "--driver", "claude", "x");
  const { agent } = JSON.parse(stdout);
  const above = await lead.midwatch("run", "--driver", "claude", "--parent", agent, "--permission", "edit", "x");
  expect([above.code, above.stderr]).toEqual([4, expect.stringContaining("Its own permission is plan")]);
  const below = await lead.midwatch("--json", "run", "--driver", "claude", "--parent", agent, "x");
  expect(at.intent(JSON.parse(below.stdout)).permission).toBe("plan");
});

it("below an agent that may do everything, and below a command, everything can be started", async () => {
  const at = lab();
  const all = await new Puppets(at).start({ permission: "all" });
  expect((await all.midwatch("run", "--cwd", "/", "--", "true")).code).toBe(0);
  const shell = await at.sh(
    `exec '${process.execPath}' '${join(process.cwd(), "dist/midwatch.js")}' run --wait -- true`,
  );
  await at.workspace.runs.wait([shell.agent]);
  expect(await at.workspace.runs.show(shell.agent)).toMatchObject({
    outcome: "completed",
    children: [{ outcome: "completed" }],
  });
});

it("an agent cannot restart or resume what it started, with whatever rights that had", async () => {
  const at = lab();
  const lead = await new Puppets(at).start({ permission: "edit" });
  const { stdout } = await lead.midwatch("--json", "run", "--driver", "claude", "x");
  const { agent } = JSON.parse(stdout);
  expect((await lead.midwatch("stop", "--grace", "0", agent)).code).toBe(0);
  for (const more of [[], ["--resume", "with more"]])
    expect((await lead.midwatch("restart", agent, ...more)).code).toBe(4);
});
