/** An agent puts a symbolic link where a file of its run was: whoever reads the run gets to see nothing of what it leads to. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import { lab } from "../support/lab.ts";
import { httpClient, stdioClient } from "../support/mcp/mcp-client.ts";
import { ask, bearer, Follower, tokenOf } from "../support/net/http.ts";
import { type Lab, until } from "../support/workspace.ts";

const SECRET = "the-secret-of-somebody-else";

async function stage() {
  const at = lab();
  const secret = join(at.folder, "secret.jsonl");
  writeFileSync(secret, `{"token":"${SECRET}"}\n`);
  const other = await at.sh("echo fine");
  const led = await at.sh("echo mine");
  await at.workspace.runs.wait([led.agent, other.agent]);
  return { at, led, other, secret };
}

function swap(path: string, target: string): void {
  rmSync(path, { force: true });
  symlinkSync(target, path);
}

/** All that reads a run, by each door. */
async function everything(at: Lab, agent: string): Promise<string> {
  const served = await serve(at.workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => served.close());
  const said: string[] = [];
  for (const words of [
    ["logs", agent],
    ["logs", "--raw", agent],
    ["logs", "--stderr", agent],
    ["--json", "logs", agent],
    ["page", agent],
    ["timeline", agent],
    ["show", "--json", agent],
    ["summary", agent],
    ["messages", agent],
    ["verify", agent],
    ["search", "secret"],
    ["events"],
    ["up", "--once", "--no-http"],
  ]) {
    const { stdout, stderr } = await at.cli(...words);
    expect([words, stderr]).toEqual([words, expect.not.stringContaining("INTERNAL")]);
    said.push(stdout, stderr);
  }
  for (const path of [`logs?agent=${agent}`, `page?agent=${agent}`, `show?agent=${agent}`, "search?text=secret"])
    said.push((await ask(served.url, `/api/${path}`, { headers: bearer(tokenOf(at)) })).text);
  for (const { client, call } of [
    await stdioClient(at, "legacy"),
    await httpClient({ url: `${served.url}/mcp`, token: tokenOf(at) }, "modern"),
  ]) {
    for (const name of ["get_agent_output", "get_agent_summary"])
      said.push((await call(name, { agent_id: agent })).text);
    said.push((await call("search_logs", { text: "secret" })).text);
    const read = client.readResource({ uri: `agent://${agent}/log` });
    said.push(await read.then(JSON.stringify, String));
  }
  const live = await new Follower(served.url, bearer(tokenOf(at))).open();
  live.send({ sub: 1, stream: "log", agent });
  await until(() => live.of(1).some(({ end, error }) => end || error));
  said.push(JSON.stringify(live.messages));
  live.socket.terminate();
  return said.join("\n");
}

it("a log, its index, the errors or a fact that is a link to somebody else's file shows nothing of that file", async () => {
  const { at, led, other, secret } = await stage();
  const logs = join(at.root, led.task, "logs");
  swap(join(logs, `${led.agent}_stream.jsonl`), secret);
  swap(join(logs, `${led.agent}_stderr.log`), secret);
  swap(`${at.runDir(led)}.json`, secret); // Its facts, sealed.
  mkdirSync(at.runDir(led), { recursive: true });
  for (const name of ["exit.json", "done.json", "messages.jsonl"]) swap(join(at.runDir(led), name), secret);
  expect(await everything(at, led.agent)).not.toContain(SECRET);
  const { code, stderr } = await at.cli("logs", led.agent);
  expect([code, stderr]).toEqual([5, expect.stringContaining("is a symbolic link, and is not read")]);
  // Nobody else is hidden by it.
  expect((await at.cli("logs", other.agent)).stdout).toBe("fine\n");
  expect((await at.cli("search", "fine")).stdout).toContain(other.agent);
});

it("an archive that is a link to another archive is not read", async () => {
  const { at, led, other } = await stage();
  for (const { agent } of [led, other]) expect((await at.cli("archive", agent)).code).toBe(0);
  const archived = ({ task, agent }: typeof led): string =>
    join(at.root, task, "archive", `${agent}_stream.1.jsonl.zst`);
  swap(archived(led), archived(other));
  const { code, stdout } = await at.cli("logs", led.agent);
  expect([code, stdout]).toEqual([5, ""]);
});

it("the journal is not read through a link", async () => {
  const { at } = await stage();
  const secret = join(at.folder, "other.log");
  await at.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: SECRET });
  renameSync(join(at.root, "events.log"), secret);
  symlinkSync(secret, join(at.root, "events.log"));
  const { code, stdout } = await at.cli("events");
  expect([code, stdout]).toEqual([5, ""]);
});

it("a person's own file is read through a link, as by any other program", async () => {
  const { at, secret } = await stage();
  mkdirSync(join(at.folder, "sub"));
  symlinkSync(secret, join(at.folder, "sub/link.jsonl"));
  expect((await at.cli("jsonl", "tail", join(at.folder, "sub/link.jsonl"))).stdout).toContain(SECRET);
});
