import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { makeRepository } from "../support/net/repository.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab } from "../support/workspace.ts";

const INHERITED = 'inherited "value" of/it';
const FILED = "filed-value-éè-0123";

/** An agent with one secret from its caller and one from a file, which runs this script. */
async function withSecrets(at: Lab, script: string, more: object = {}): Promise<{ agent: string; dir: string }> {
  writeFileSync(join(at.folder, "secrets.env"), `SERVICE_TOKEN=${FILED}\nLEVEL=debug-verbose\n`);
  const workspace = at.open({ env: { ...process.env, MY_API_KEY: INHERITED } });
  const record = await workspace.runs.start({
    argv: ["sh", "-c", script],
    envFile: join(at.folder, "secrets.env"),
    ...more,
  });
  await workspace.runs.wait([record.agent], { timeoutMs: patient(20_000) });
  return { agent: record.agent, dir: at.runDir(record) };
}

it("values of secret variables are hidden in every way a log is read, and kept in the file", async () => {
  const at = lab();
  const script = `echo "key $MY_API_KEY."; echo "{\\"t\\":\\"$SERVICE_TOKEN\\",\\"n\\":1}"; echo "$LEVEL"; echo "err $SERVICE_TOKEN" >&2
    printf 'bad \\377 %s\\n' "$SERVICE_TOKEN"`;
  const { agent, dir } = await withSecrets(at, script);
  const plain = await at.cli("logs", agent);
  expect(plain.stdout).toContain('key [masked].\n{"t":"[masked]","n":1}\ndebug-verbose\n');
  expect(plain.stderr).toContain("3 secrets masked");
  const records = await at.cli("logs", "--json", agent);
  expect(records.stdout).toContain('"data":{"t":"[masked]","n":1}');
  expect(records.stdout).not.toContain("secrets masked");
  const b64 = /"b64":"([^"]+)"/.exec(records.stdout)?.[1] ?? "";
  expect(Buffer.from(b64, "base64").toString("latin1")).toBe("bad \xff [masked]");
  const stderr = await at.cli("logs", "--stderr", agent);
  expect(stderr.stdout).toBe("err [masked]\n");
  const found = await at.cli("search", "key ");
  expect(found.stdout).toContain("key [masked].");
  const task = (await at.workspace.runs.show(agent)).task;
  expect((await at.cli("logs", "--task", task)).stdout).toContain("key [masked].");
  for (const shown of [plain, records, stderr, found])
    for (const value of [INHERITED, FILED]) expect(shown.stdout + shown.stderr).not.toContain(value);
  // As it was printed, on demand and on disk.
  expect((await at.cli("logs", "--no-mask", agent)).stdout).toContain(INHERITED);
  expect((await at.raw(agent)).toString()).toContain(FILED);
  const { facts } = JSON.parse(readFileSync(`${dir}.json`, "utf8")) as { facts: Record<string, object> };
  expect(statSync(`${dir}.json`).mode & 0o777).toBe(0o600);
  for (const value of [INHERITED, FILED, "inherited"])
    expect(JSON.stringify(facts["secrets.json"])).not.toContain(value);
  expect(Object.keys(facts)).toEqual(expect.arrayContaining(["intent.json", "start.json", "cleanup.json"]));
  expect(JSON.stringify(facts)).not.toContain(FILED);
});

it("a search hit that cuts a value in two shows neither part", async () => {
  const at = lab();
  const { agent } = await withSecrets(at, `printf '%s%0112d needle %0112d%s\\n' "$SERVICE_TOKEN" 0 0 "$SERVICE_TOKEN"`);
  const { stdout } = await at.cli("search", "--agent", agent, "needle");
  expect(stdout).toContain("needle");
  for (let i = 0; i + 5 <= FILED.length; i++) expect(stdout).not.toContain(FILED.slice(i, i + 5));
});

it("neither a cut line nor the message of a parse error shows a part of a value", async () => {
  const at = lab();
  const driver = {
    program: "sh",
    args: ["-c", `printf '%0190d%s\\n' 0 "$SERVICE_TOKEN"; echo "$SERVICE_TOKEN"`],
    json: true,
  };
  writeConfig(at.folder, { drivers: { odd: driver } });
  const { agent } = await withSecrets(at, "", { argv: undefined, driver: "odd", prompt: "x" });
  const { stdout } = await at.cli("logs", "--json", agent);
  expect(stdout.match(/parse_error/g)).toHaveLength(2);
  for (let i = 0; i + 5 <= FILED.length; i++) expect(stdout).not.toContain(FILED.slice(i, i + 5));
});

it("what agents report of themselves is hidden for their peers, and the next run has values of its own", async () => {
  const at = lab();
  const call = `"${process.execPath}" "${CLI}"`;
  const task = at.workspace.runs.makeTask("shared").task;
  const { agent } = await withSecrets(
    at,
    `${call} progress working "using $SERVICE_TOKEN"; ${call} finding leak low "see" --data "{\\"t\\":\\"$MY_API_KEY\\"}" || true`.replaceAll(
      "$MY_API_KEY",
      "$SERVICE_TOKEN",
    ),
    { task },
  );
  const peer = await at.workspace.runs.start({ argv: ["true"], task });
  const told = at.workspace.mail.progress(peer.agent, "working", "hello");
  expect(told.peer_progress).toMatchObject([{ agent_id: agent, message: "using [masked]" }]);
  expect(told.peer_findings).toMatchObject([{ data: { t: "[masked]" } }]);
  writeFileSync(join(at.folder, "secrets.env"), "SERVICE_TOKEN=another-value-987\n");
  await at.workspace.runs.restart(agent);
  await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  expect((await at.cli("logs", agent)).stdout).not.toContain("another-value-987");
  expect((await at.cli("logs", "--run", "1", agent)).stdout).not.toContain(FILED);
});

it("a diff hides values too, unless told otherwise", async () => {
  const place = folder();
  makeRepository(place);
  const at = lab({}, place);
  const { agent } = await withSecrets(at, 'echo "token $SERVICE_TOKEN" > leaked', { worktree: true });
  expect((await at.cli("diff", agent)).stdout).toContain("+token [masked]");
  expect((await at.cli("diff", "--no-mask", agent)).stdout).toContain(`+token ${FILED}`);
});

it("without secrets there is no fingerprint beyond the agent's own capability", async () => {
  const place = folder();
  const { stdout } = await midwatch(place, ["run", "--json", "--wait", "--", "true"], { PATH: process.env["PATH"] });
  const { task, agent } = JSON.parse(stdout.split("\n")[0] ?? "") as { task: string; agent: string };
  const file = join(place, ".agent-workspace", task, "runs", agent, "1.json");
  const { facts } = JSON.parse(readFileSync(file, "utf8")) as { facts: Record<string, { values: unknown[] }> };
  expect(facts["secrets.json"]?.values).toHaveLength(1);
});
