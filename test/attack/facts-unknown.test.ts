// Runs that the registry does not know, and whose facts cannot be read: they are told, and nothing is done to them that is not known.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newAgentId } from "../../src/core/ids.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import type { Lab } from "../support/workspace.ts";

async function ended(at: Lab): Promise<RunRecord> {
  const sound = await at.sh("echo fine");
  await at.workspace.runs.wait([sound.agent]);
  return sound;
}

/** Only the mark in `active/` tells of it. */
function plant(
  at: Lab,
  { task }: RunRecord,
  sealed: boolean,
  facts: Record<string, string>,
): { id: string; dir: string } {
  const id = newAgentId("planted");
  const dir = join(at.root, task, "runs", id, "1");
  mkdirSync(sealed ? dirname(dir) : dir, { recursive: true });
  const all = Object.entries(facts);
  if (sealed)
    writeFileSync(`${dir}.json`, `{"v":1,"facts":{${all.map(([name, text]) => `"${name}":${text}`).join()}}}\n`);
  else for (const [name, text] of all) writeFileSync(join(dir, name), text);
  writeFileSync(join(at.root, "active", `${id}.1`), `${task}/runs/${id}/1\n`);
  onTestFinished(() => {
    rmSync(dirname(dir), { recursive: true });
    rmSync(join(at.root, "active", `${id}.1`), { force: true });
    rmSync(join(at.root, "midwatch.db"));
  });
  return { id, dir };
}

it.each([false, true])("an intent that cannot be read hides no agent (sealed: %s)", async (sealed) => {
  const at = lab();
  const { id } = plant(at, await ended(at), sealed, { "intent.json": "[]" });
  expect((await at.workspace.runs.list({ all: true })).map(({ agent }) => agent)).toContain(id);
  expect(await at.workspace.runs.show(id)).toMatchObject({ agent: id, reason: expect.stringContaining("intent.json") });
});

it("a sealed run is over, whatever of it cannot be read: nobody gives up its launch", async () => {
  const at = lab();
  const sound = await ended(at);
  const { facts } = JSON.parse(readFileSync(at.sealed(sound), "utf8")) as { facts: Record<string, object> };
  const { id, dir } = plant(at, sound, true, {
    "intent.json": JSON.stringify({ ...facts["intent.json"], created_mono_ms: 1 }).replaceAll(sound.agent, "@planted@"),
    claim: "[]",
    "done.json": "[]",
  });
  writeFileSync(`${dir}.json`, readFileSync(`${dir}.json`, "utf8").replaceAll("@planted@", id));
  await at.workspace.runs.list({ all: true });
  expect(await at.workspace.runs.show(id)).toMatchObject({ phase: "drained", outcome: "lost" });
  expect(existsSync(dir)).toBe(false);
});
