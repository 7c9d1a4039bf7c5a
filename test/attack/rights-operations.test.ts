import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { fieldsOf } from "../../src/doors/flags.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { operations } from "../../src/operations/index.ts";
import { RIGHTS } from "../../src/operations/rights.ts";
import { lab } from "../support/lab.ts";
import { ask, bearer, tokenOf } from "../support/net/http.ts";
import { Puppets } from "../support/puppet.ts";
import { CLI } from "../support/workspace.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

async function stage(permission: "plan" | "all" = "plan") {
  const at = lab();
  const puppets = new Puppets(at);
  const served = await serve(puppets.workspace, {
    host: "127.0.0.1",
    port: 0,
    allowRemote: false,
    tell: () => undefined,
  });
  onTestFinished(() => served.close());
  const puppet = await puppets.start({ permission });
  const post = (name: string, body: object) =>
    ask(served.url, `/api/${name.replaceAll(" ", "/")}`, {
      method: "POST",
      headers: bearer(puppet.bearer),
      body: JSON.stringify(body),
    });
  return { at, puppets, puppet, post, url: served.url };
}

/** Something that each operation takes, so that its rights are what is asked. */
const INPUT: Record<string, { body: object; words: string[] }> = {
  restart: { body: { agent: "OTHER" }, words: ["OTHER"] },
  "budget set": { body: { period: "day", amount: ["900"] }, words: ["day", "900"] },
  "budget raise": { body: { period: "day", amount: ["900"] }, words: ["day", "900"] },
  stop: { body: { agents: ["OTHER"] }, words: ["OTHER"] },
  task: { body: { description: "x", file: ["/etc/passwd"] }, words: ["x"] },
  sync: { body: { remote: "./x" }, words: ["--remote", "./x"] },
  "alert test": { body: { route: "ops" }, words: ["ops"] },
  drain: { body: { host: "h" }, words: ["h"] },
  "nats init": { body: {}, words: ["--dir", "nats"] },
  "mcp install": { body: {}, words: ["--client", "claude", "--yes"] },
  archive: { body: { agent: "OTHER" }, words: ["OTHER"] },
  restore: { body: { agent: "OTHER" }, words: ["OTHER"] },
  pin: { body: { agent: "OTHER" }, words: ["OTHER"] },
  ...Object.fromEntries(
    ["tail", "page", "count", "verify"].map((verb) => [
      `jsonl ${verb}`,
      { body: { file: ".agent-workspace/http-token" }, words: [".agent-workspace/http-token"] },
    ]),
  ),
  "jsonl append": { body: { file: "x.jsonl", record: "{}" }, words: ["x.jsonl", "{}"] },
  send: { body: { agent: "OTHER", text: "x" }, words: ["OTHER", "x"] },
  progress: { body: { words: ["OTHER", "working", "x"] }, words: ["OTHER", "working", "x"] },
  finding: { body: { words: ["OTHER", "bug", "low", "x"] }, words: ["OTHER", "bug", "low", "x"] },
  event: {
    body: { interaction: 1, actor: "a", type: "note", content: "x", agent: "OTHER" },
    words: ["1", "a", "note", "x", "--agent", "OTHER"],
  },
  claim: { body: { task: "ELSEWHERE" }, words: ["ELSEWHERE"] },
  checkpoint: { body: { agent: "OTHER", interaction: 5 }, words: ["OTHER", "5"] },
  run: { body: { command: ["true"], parent: "OTHER" }, words: ["--parent", "OTHER", "--", "true"] },
};

it("every operation has its line in the table of rights, and nothing else has", () =>
  expect(Object.keys(RIGHTS)).toEqual(operations.map(({ name }) => name)));

it("docs/rights.md says the same as the table", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/rights.md"), "utf8");
  const told = [...page.matchAll(/^\| (\w+) \| [^|]+ \| (`[^|]+`) \|$/gm)].flatMap(([, right, names = ""]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, right]),
  );
  expect(Object.fromEntries(told)).toEqual(RIGHTS);
});

it("what takes a path, a route or an address of the caller's is a person's", () => {
  const takes = operations.filter((operation) =>
    fieldsOf(operation).some(({ value }) => /^(FILE|DIR|PATH|ADDRESS|ROUTE)$/.test(value)),
  );
  // `run` is tried field by field in rights-child.test.ts; `up` serves for people only, and to have it takes a shell.
  expect(takes.map(({ name }) => name).filter((name) => RIGHTS[name] !== "person")).toEqual(["run", "up"]);
});

it("an agent asks for all that is not its own, through each door: refused, also one that may do everything", async () => {
  for (const permission of ["plan", "all"] as const) {
    const { at, puppet, post } = await stage(permission);
    const other = await at.run("sleep", "60");
    const fill = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value).replaceAll("OTHER", other.agent).replaceAll("ELSEWHERE", other.task)) as T;
    for (const { name, cliOnly } of operations) {
      if (RIGHTS[name] === "anybody") continue;
      const { body, words } = fill(INPUT[name] ?? { body: {}, words: [] });
      if (!cliOnly) {
        const { status, json } = await post(name, body);
        expect([name, status, json.error?.code]).toEqual([name, 403, "REFUSED_RIGHT"]);
      }
      if (permission === "all" || cliOnly) {
        const { code, stderr } = await puppet.midwatch(...name.split(" "), ...words);
        expect([name, code, stderr]).toEqual([name, 4, expect.stringContaining("REFUSED_RIGHT")]);
      }
    }
    expect((await at.workspace.runs.show(other.agent)).phase).toBe("running");
  }
});

it("an agent does not have the registry made anew from facts that it may have changed", async () => {
  const at = lab();
  const { agent } = await at.run("sleep", "60");
  expect(() => at.workspace.as({ agent }).rebuild()).toThrow("may not make the registry anew");
  const told = await at.sh(`'${process.execPath}' '${CLI}' doctor --rebuild`);
  await at.workspace.runs.wait([told.agent]);
  expect((await at.raw(told.agent)).toString()).toContain("may not make the registry anew");
});

it("a person still may, over HTTP and on the command line", async () => {
  const { at, url } = await stage();
  const headers = bearer(tokenOf(at));
  writeFileSync(join(at.folder, "x.jsonl"), '{"a":1}\n');
  const file = encodeURIComponent(join(at.folder, "x.jsonl"));
  expect((await ask(url, `/api/jsonl/count?file=${file}`, { headers })).json).toMatchObject({ lines: 1 });
  expect((await at.cli("jsonl", "count", join(at.folder, "x.jsonl"))).code).toBe(0);
});

it.each(["plan", "edit", "all"] as const)("in another workspace an agent with %s is no person", async (permission) => {
  const at = lab();
  const other = lab();
  const puppet = await new Puppets(at).start({ permission });
  const victim = await other.workspace.runs.start({ argv: ["sleep", "300"] });
  const there = ["--workspace", other.root];
  const asked = [
    ["event", "+", "a", "note", "x"],
    ["restart", victim.agent],
    ["run", "--", "true"],
    ["send", victim.agent, "x"],
    ["prune", "--older", "1d"],
    ["stop", victim.agent],
  ];
  for (const words of asked) {
    const { code, stderr } = await puppet.midwatch(...there, ...words);
    if (permission === "all")
      expect([words, stderr]).toEqual([words, expect.not.stringContaining("another workspace")]);
    else expect([words, code, stderr]).toEqual([words, 4, expect.stringContaining("is an agent of another workspace")]);
  }
  const { phase } = await other.workspace.runs.show(victim.agent);
  expect(phase).toBe(permission === "all" ? "drained" : "running");
  expect(await other.workspace.runs.list({ all: true })).toHaveLength(permission === "all" ? 2 : 1);
});
