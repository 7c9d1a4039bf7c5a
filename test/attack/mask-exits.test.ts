// One agent prints, reports and leaves secrets wherever it can; then every way out of midwatch is searched for them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isSeen, type Sample, samples } from "../support/data/secret-formats.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { ask, bearer, Follower, startUp, tokenOf } from "../support/net/http.ts";
import { Receiver } from "../support/net/receiver.ts";
import { gitIn, makeRepository } from "../support/net/repository.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

const KINDS = ["GitHub personal", "Anthropic", "AWS secret in the environment", "Stripe", "JSON Web Token", "RSA key"];
const SECRETS = samples(11).filter(({ name }) => KINDS.includes(name));
const KNOWN: Sample = { name: "known value", text: "velvet-anchor-55021", secret: "velvet-anchor-55021" };
const ALL = [...SECRETS, KNOWN];

/** Plain, in JSON, behind \n and \t, coloured, percent-encoded, and one for each line of a stream. */
function lines(): string[] {
  return ALL.flatMap(({ text }) => [
    ...text.split("\n"),
    JSON.stringify({ type: "x", message: `needle\n${text}` }),
    JSON.stringify({ type: "x", message: `needle\t${text}` }),
    ...`\u001b[31m${text}\u001b[0m`.split("\n"),
    `needle ${encodeURIComponent(text)}`,
    JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text: `needle is ${text}` }] } }),
  ]);
}

async function scene(): Promise<{ at: Lab; agent: string; task: string; remote: string; receiver: Receiver }> {
  const place = folder();
  makeRepository(place);
  const remote = join(folder(), "remote.git");
  execFileSync("git", ["init", "--quiet", "--bare", remote]);
  gitIn(place, "remote", "add", "origin", remote);
  const receiver = await Receiver.open();
  onTestFinished(() => receiver.close());
  process.env["TEST_EXITS_SECRET"] = receiver.secret;
  onTestFinished(() => void delete process.env["TEST_EXITS_SECRET"]);
  const hook = { to: "webhook", url: receiver.url("/hook"), secret: { env: "TEST_EXITS_SECRET" }, private: true };
  writeConfig(place, { alerts: { routes: { hook }, rules: [{ type: "error", routes: ["hook"] }] } });
  const at = lab({}, place);
  writeFileSync(join(place, "printed"), `${lines().join("\n")}\n`);
  writeFileSync(join(place, "secrets.env"), `SERVICE_TOKEN=${KNOWN.text}\n`);
  const all = ALL.map(({ text }) => text).join("\n");
  writeFileSync(join(place, "told"), all);
  const call = `"${process.execPath}" "${CLI}"`;
  const script = [
    `cat '${place}/printed'; cat '${place}/told' >&2; cp '${place}/told' leaked`,
    `${call} progress working "$(cat '${place}/told')"`,
    `${call} finding leak low "$(cat '${place}/told')"`,
    `${call} event 1 "Agent A" note "$(cat '${place}/told')"`,
    "exit 3",
  ].join("\n");
  const task = at.workspace.runs.makeTask(`work with ${SECRETS[0]?.text}`).task;
  const { agent } = await at.workspace.runs.start({
    argv: ["sh", "-c", script],
    envFile: join(place, "secrets.env"),
    worktree: true,
    task,
  });
  await at.workspace.runs.wait([agent], { timeoutMs: patient(30_000) });
  // What a script appends is masked by nobody on its way in.
  const [line] = readFileSync(join(at.root, "events.log"), "utf8").split("\n");
  const event = {
    ...JSON.parse(line as string),
    id: undefined,
    type: "note",
    content: SECRETS.map(({ text }) => text).join(" "),
  };
  writeFileSync(join(at.root, "events.log"), `${JSON.stringify(event)}\n`, { flag: "a" });
  return { at, agent, task, remote, receiver };
}

describe("every way out", () => {
  it("shows no secret of an agent that printed, reported and left them", async () => {
    const { at, agent, task, remote, receiver } = await scene();
    const out: Record<string, string> = {};
    const cli = async (...args: string[]): Promise<void> => {
      const { stdout, stderr } = await at.cli(...args);
      out[`midwatch ${args.join(" ")}`] = stdout + stderr;
    };
    await cli("snapshot");
    for (const flags of [[], ["--json"], ["--pretty"], ["--stderr"], ["--stderr", "--json"], ["--grep", "needle"]])
      await cli("logs", "--offset", "0", ...flags, agent);
    await cli("logs", "--task", task, "-n", "500");
    for (const more of [
      ["search", "needle"],
      ["search", "needle", "--json"],
      ["search", "BEGIN"],
      ["ls", "-a", "--json"],
      ["events", "--json"],
    ])
      await cli(...more);
    for (const name of ["show", "page", "timeline", "summary", "diff", "cost"]) await cli(name, agent, "--json");
    for (const name of ["task", "health", "metrics", "alert"])
      await cli(name, ...(name === "alert" ? ["status"] : []), "--json");
    await cli("logs", `no ${SECRETS[0]?.text}`);
    await cli("sync", "--json");
    const up = await startUp(at, "--port", "0");
    const headers = bearer(tokenOf(at));
    for (const path of [
      `/api/logs?agent=${agent}&offset=0`,
      `/api/page?agent=${agent}&limit=500`,
      `/api/show?agent=${agent}`,
      `/api/timeline?agent=${agent}`,
      `/api/diff?agent=${agent}`,
      "/api/search?text=needle",
      "/api/events",
      "/api/ls?all=true",
      "/metrics",
      `/api/logs?agent=${encodeURIComponent(SECRETS[0]?.text ?? "")}`,
    ])
      out[`GET ${path.slice(0, 40)}`] = (await ask(up.url, path, { headers })).text;
    const follower = await new Follower(up.url, headers).open();
    onTestFinished(() => follower.socket.terminate());
    for (const [i, stream] of ["log", "journal", "summaries", "fleet"].entries())
      follower.send({ sub: i, stream, ...(stream === "log" ? { agent } : {}) });
    await until(() => follower.of(0).some(({ end }) => end) && follower.items(1).length > 3, 20_000);
    out["WebSocket"] = JSON.stringify(follower.messages);
    const { client, call } = await stdioClient(at, "modern");
    for (const [name, input] of Object.entries({
      get_agent_output: { agent_id: agent, tail: 200 },
      get_agent_summary: { agent_id: agent },
      get_real_task_status: { task_id: task },
      search_logs: { text: "needle" },
      get_communication: {},
      list_agents: {},
    }))
      out[`MCP ${name}`] = (await call(name, input)).text;
    for (const uri of [`agent://${agent}/log`, `task://${task}/status`, "tasks://list"])
      out[`MCP ${uri}`] = JSON.stringify(await client.readResource({ uri }).catch((error: unknown) => String(error)));
    const told = { interaction: 1, actor: "sh", agent, type: "error", content: ALL.map(({ text }) => text).join(" ") };
    const error = { ...told, timestamp: new Date().toISOString() };
    await until(() => existsSync(join(at.root, "registers", "alerts", "1.json")), 20_000);
    writeFileSync(join(at.root, "events.log"), `${JSON.stringify(error)}\n`, { flag: "a" });
    await until(() => receiver.received.length > 0, 20_000);
    out["alerts"] = receiver.received.map(({ body }) => body).join("\n");
    for (const file of [
      "communication.md",
      `${task}/AGENT_REGISTRY.json`,
      `${task}/summaries/${agent}/latest_summary.json`,
    ])
      out[file] = readFileSync(join(at.root, file), "utf8");
    out["the remote"] = gitIn(remote, "log", "--all", "-p");
    const seen = Object.entries(out).flatMap(([way, text]) =>
      ALL.filter((one) => isSeen(one, text) || isSeen(one, decoded(text))).map(({ name }) => `${way}: ${name}`),
    );
    expect(seen).toEqual([]);
    // Each was there to be searched.
    const empty = Object.entries(out)
      .filter(([, text]) => text.length < 10)
      .map(([way]) => way);
    expect(empty).toEqual([]);
    expect(Object.values(out).filter((text) => text.includes("[masked]")).length).toBeGreaterThan(20);
  });
});

/** What a reader of JSON, or of an address, would see. */
function decoded(text: string): string {
  return text.replaceAll(/\\+u([0-9a-f]{4})|%([0-9a-f]{2})/gi, (_, unit, byte) =>
    String.fromCharCode(Number.parseInt(unit ?? byte, 16)),
  );
}
